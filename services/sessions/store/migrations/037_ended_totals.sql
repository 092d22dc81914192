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

-- turn_totals and turn_costs, which it replaces, stay: processes of the version before write to them during an upgrade.

-- +goose Down
DROP TABLE ended_totals;
