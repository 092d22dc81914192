-- +goose Up
-- What turns that have ended come to, since this table exists, by tenant, agent, model and outcome. Counted with the end itself, so that a
-- count neither misses nor repeats a turn whatever is killed, and kept when turns, sessions and agents are deleted. Rows of several shards let
-- turns of several sessions end at once. first_us orders the combinations by their first turn.
CREATE TABLE ended_totals (
    shard BIGINT NOT NULL,
    tenant TEXT NOT NULL,
    agent_id TEXT NOT NULL,
    model TEXT NOT NULL,
    status BIGINT NOT NULL,
    stop_reason TEXT NOT NULL,
    first_us BIGINT NOT NULL,
    turns BIGINT NOT NULL,
    model_calls BIGINT NOT NULL,
    tool_calls BIGINT NOT NULL,
    input_tokens BIGINT NOT NULL,
    output_tokens BIGINT NOT NULL,
    cost_micros BIGINT NOT NULL,
    PRIMARY KEY (shard, tenant, agent_id, model, status, stop_reason)
){{rowless}};

-- What was counted before has either an outcome or a model, and no agent.
INSERT INTO ended_totals SELECT shard, '', '', '', status, stop_reason, 0, turns, 0, 0, 0, 0, 0 FROM turn_totals;
INSERT INTO ended_totals SELECT shard, '', '', model, 0, '', 0, 0, 0, 0, 0, 0, cost_micros FROM turn_costs;
DROP TABLE turn_costs;
DROP TABLE turn_totals;

-- +goose Down
CREATE TABLE turn_totals (
    shard BIGINT NOT NULL,
    status BIGINT NOT NULL,
    stop_reason TEXT NOT NULL,
    turns BIGINT NOT NULL,
    PRIMARY KEY (shard, status, stop_reason)
){{rowless}};
CREATE TABLE turn_costs (
    shard BIGINT NOT NULL,
    model TEXT NOT NULL,
    cost_micros BIGINT NOT NULL,
    PRIMARY KEY (shard, model)
){{rowless}};
INSERT INTO turn_totals SELECT shard, status, stop_reason, sum(turns) FROM ended_totals WHERE turns > 0 GROUP BY shard, status, stop_reason;
INSERT INTO turn_costs SELECT shard, model, sum(cost_micros) FROM ended_totals WHERE cost_micros > 0 GROUP BY shard, model;
DROP TABLE ended_totals;
