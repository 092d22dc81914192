-- +goose Up
-- How many turns have ended, since this table exists, by outcome. Counted with the end itself, so that a count neither misses nor repeats a
-- turn whatever is killed, and kept when turns are deleted. Rows of several shards let turns of several sessions end at once.
CREATE TABLE turn_totals (
    shard BIGINT NOT NULL,
    status BIGINT NOT NULL,
    stop_reason TEXT NOT NULL,
    turns BIGINT NOT NULL,
    PRIMARY KEY (shard, status, stop_reason)
){{rowless}};

-- What turns that have ended have cost, in millionths of the currency of the prices, by the model that they were pinned to.
CREATE TABLE turn_costs (
    shard BIGINT NOT NULL,
    model TEXT NOT NULL,
    cost_micros BIGINT NOT NULL,
    PRIMARY KEY (shard, model)
){{rowless}};

-- +goose Down
DROP TABLE turn_costs;
DROP TABLE turn_totals;
