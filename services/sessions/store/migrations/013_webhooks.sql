-- +goose Up
-- Addresses that are told of the ends of turns. Secrets are sealed.
CREATE TABLE webhooks (
    tenant TEXT NOT NULL,
    id TEXT NOT NULL,
    url TEXT NOT NULL,
    -- Types of events, separated by commas; empty = all.
    events TEXT NOT NULL,
    agent_id TEXT NOT NULL,
    description TEXT NOT NULL,
    disabled BIGINT NOT NULL,
    per_turn BIGINT NOT NULL,
    last_error TEXT NOT NULL,
    created_by TEXT NOT NULL,
    secret {{blob}} NOT NULL,
    -- The secret before, which signs too until old_until_us.
    old_secret {{blob}} NOT NULL,
    old_until_us BIGINT NOT NULL,
    create_us BIGINT NOT NULL,
    update_us BIGINT NOT NULL,
    PRIMARY KEY (tenant, id)
){{strict}};
CREATE UNIQUE INDEX webhooks_per_turn ON webhooks (tenant) WHERE per_turn = 1;

-- The webhook_url of turns that have one, until they end.
CREATE TABLE turn_webhooks (
    tenant TEXT NOT NULL,
    turn_id TEXT NOT NULL,
    url TEXT NOT NULL,
    PRIMARY KEY (tenant, turn_id)
){{rowless}};

-- What is to be sent to webhooks, or was.
CREATE TABLE webhook_deliveries (
    tenant TEXT NOT NULL,
    id TEXT NOT NULL,
    webhook_id TEXT NOT NULL,
    turn_id TEXT NOT NULL,
    session_id TEXT NOT NULL,
    type TEXT NOT NULL,
    -- Of the turn; empty = the webhook's.
    url TEXT NOT NULL,
    body {{blob}} NOT NULL,
    -- 0 pending, 1 delivered, 2 failed.
    status BIGINT NOT NULL,
    attempts BIGINT NOT NULL,
    -- Somebody sends it, until next_us at most.
    sending BIGINT NOT NULL,
    -- When it may be taken next.
    next_us BIGINT NOT NULL,
    give_up_us BIGINT NOT NULL,
    response_code BIGINT NOT NULL,
    error TEXT NOT NULL,
    create_us BIGINT NOT NULL,
    end_us BIGINT NOT NULL,
    PRIMARY KEY (tenant, id)
){{strict}};
CREATE INDEX webhook_deliveries_due ON webhook_deliveries (next_us) WHERE status = 0;
CREATE INDEX webhook_deliveries_over ON webhook_deliveries (end_us) WHERE status > 0;
CREATE INDEX webhook_deliveries_by_webhook ON webhook_deliveries (tenant, webhook_id, id);
CREATE INDEX webhook_deliveries_by_session ON webhook_deliveries (tenant, session_id);

-- +goose Down
DROP TABLE webhook_deliveries;
DROP TABLE turn_webhooks;
DROP TABLE webhooks;
