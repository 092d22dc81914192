-- +goose Up
-- What turns that have ended have used, since this table exists, by tenant, agent and model. Counted with the end itself as turn_totals are,
-- and kept when turns, sessions and agents are deleted. first_us orders the combinations by their first turn.
CREATE TABLE agent_totals (
    shard BIGINT NOT NULL,
    tenant TEXT NOT NULL,
    agent_id TEXT NOT NULL,
    model TEXT NOT NULL,
    first_us BIGINT NOT NULL,
    turns BIGINT NOT NULL,
    model_calls BIGINT NOT NULL,
    tool_calls BIGINT NOT NULL,
    input_tokens BIGINT NOT NULL,
    output_tokens BIGINT NOT NULL,
    cost_micros BIGINT NOT NULL,
    PRIMARY KEY (shard, tenant, agent_id, model)
){{rowless}};

-- +goose Down
DROP TABLE agent_totals;
