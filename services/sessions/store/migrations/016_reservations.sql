-- +goose Up
-- What one model call of the step was estimated to read, in tokens; 0 for other steps.
ALTER TABLE budget_holds ADD COLUMN prompt BIGINT NOT NULL DEFAULT 0;

-- What the model calls of an agent have used for each thousand tokens of their estimate.
CREATE TABLE model_ratios (
    tenant TEXT NOT NULL,
    agent_id TEXT NOT NULL,
    model TEXT NOT NULL,
    input BIGINT NOT NULL,
    output BIGINT NOT NULL,
    PRIMARY KEY (tenant, agent_id, model)
){{rowless}};

-- +goose Down
DROP TABLE model_ratios;
ALTER TABLE budget_holds DROP COLUMN prompt;
