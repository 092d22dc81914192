-- +goose Up
-- Limits over many turns; rows of scope 'turn' are a turn's own limits, which go when it ends. scope_key is scope and target, for lookups.
CREATE TABLE budgets (
    tenant TEXT NOT NULL,
    id TEXT NOT NULL,
    scope TEXT NOT NULL,
    target TEXT NOT NULL,
    scope_key TEXT NOT NULL,
    period TEXT NOT NULL,
    max_tokens BIGINT NOT NULL,
    max_cost BIGINT NOT NULL,
    max_calls BIGINT NOT NULL,
    warn_at BIGINT NOT NULL,
    period_us BIGINT NOT NULL,
    used_tokens BIGINT NOT NULL,
    used_cost BIGINT NOT NULL,
    used_calls BIGINT NOT NULL,
    reserved_tokens BIGINT NOT NULL,
    reserved_cost BIGINT NOT NULL,
    reserved_calls BIGINT NOT NULL,
    create_us BIGINT NOT NULL,
    update_us BIGINT NOT NULL,
    PRIMARY KEY (tenant, id)
){{rowless}};
CREATE INDEX budgets_by_scope ON budgets (tenant, scope_key);

-- What steps under way hold of budgets. max_output is what a model step may write, bound the limit of this budget that is why it is no more.
CREATE TABLE budget_holds (
    tenant TEXT NOT NULL,
    turn_id TEXT NOT NULL,
    step_key TEXT NOT NULL,
    budget_id TEXT NOT NULL,
    tokens BIGINT NOT NULL,
    cost BIGINT NOT NULL,
    calls BIGINT NOT NULL,
    max_output BIGINT NOT NULL,
    bound TEXT NOT NULL,
    PRIMARY KEY (tenant, turn_id, step_key, budget_id)
){{rowless}};

ALTER TABLE turn_inputs ADD COLUMN limits {{blob}};

-- +goose Down
ALTER TABLE turn_inputs DROP COLUMN limits;
DROP TABLE budget_holds;
DROP TABLE budgets;
