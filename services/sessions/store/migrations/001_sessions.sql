-- +goose Up
CREATE TABLE agents (
    tenant TEXT NOT NULL,
    id TEXT NOT NULL,
    revision BIGINT NOT NULL,
    deleted BIGINT NOT NULL,
    data {{blob}} NOT NULL,
    PRIMARY KEY (tenant, id)
){{strict}};

CREATE TABLE agent_revisions (
    tenant TEXT NOT NULL,
    id TEXT NOT NULL,
    revision BIGINT NOT NULL,
    data {{blob}} NOT NULL,
    PRIMARY KEY (tenant, id, revision)
){{strict}};

CREATE TABLE sessions (
    tenant TEXT NOT NULL,
    id TEXT NOT NULL,
    agent_id TEXT NOT NULL,
    subject TEXT NOT NULL,
    title TEXT NOT NULL,
    labels TEXT NOT NULL,
    last_seq BIGINT NOT NULL,
    open_seq BIGINT NOT NULL,
    active_turn_id TEXT NOT NULL,
    create_us BIGINT NOT NULL,
    update_us BIGINT NOT NULL,
    PRIMARY KEY (tenant, id)
){{rowless}};
CREATE INDEX sessions_by_time ON sessions (tenant, create_us, id);

CREATE TABLE messages (
    tenant TEXT NOT NULL,
    session_id TEXT NOT NULL,
    seq BIGINT NOT NULL,
    id TEXT NOT NULL,
    turn_id TEXT NOT NULL,
    turn_seq BIGINT NOT NULL,
    data {{blob}} NOT NULL,
    PRIMARY KEY (tenant, session_id, seq),
    UNIQUE (tenant, id)
){{strict}};
CREATE INDEX messages_by_turn ON messages (tenant, session_id, turn_seq, seq);

CREATE TABLE turns (
    tenant TEXT NOT NULL,
    id TEXT NOT NULL,
    session_id TEXT NOT NULL,
    agent_id TEXT NOT NULL,
    subject TEXT NOT NULL,
    status BIGINT NOT NULL,
    cancel_requested BIGINT NOT NULL,
    model TEXT NOT NULL,
    blueprint_revision BIGINT NOT NULL,
    deadline_us BIGINT NOT NULL,
    input_seq BIGINT NOT NULL,
    first_seq BIGINT NOT NULL,
    last_seq BIGINT NOT NULL,
    dispatched_us BIGINT NOT NULL,
    check_us BIGINT NOT NULL,
    restarts BIGINT NOT NULL,
    create_us BIGINT NOT NULL,
    start_us BIGINT NOT NULL,
    end_us BIGINT NOT NULL,
    usage_data {{blob}},
    end_data {{blob}},
    PRIMARY KEY (tenant, id)
){{rowless}};
CREATE INDEX turns_by_session ON turns (tenant, session_id, first_seq);
CREATE INDEX turns_by_time ON turns (tenant, create_us, id);
CREATE INDEX turns_open ON turns (dispatched_us) WHERE end_us = 0;

CREATE TABLE turn_inputs (
    tenant TEXT NOT NULL,
    turn_id TEXT NOT NULL,
    input {{blob}} NOT NULL,
    principal {{blob}} NOT NULL,
    PRIMARY KEY (tenant, turn_id)
){{strict}};

CREATE TABLE turn_surfaces (
    tenant TEXT NOT NULL,
    turn_id TEXT NOT NULL,
    surface {{blob}} NOT NULL,
    tools {{blob}} NOT NULL,
    PRIMARY KEY (tenant, turn_id)
){{strict}};

CREATE TABLE turn_journal (
    tenant TEXT NOT NULL,
    session_id TEXT NOT NULL,
    seq BIGINT NOT NULL,
    turn_id TEXT NOT NULL,
    type TEXT NOT NULL,
    open_seq BIGINT NOT NULL,
    time_us BIGINT NOT NULL,
    data {{blob}} NOT NULL,
    PRIMARY KEY (tenant, session_id, seq)
){{rowless}};

CREATE TABLE turn_steps (
    tenant TEXT NOT NULL,
    turn_id TEXT NOT NULL,
    step_key TEXT NOT NULL,
    kind BIGINT NOT NULL,
    tool TEXT NOT NULL,
    owner TEXT NOT NULL,
    fence BIGINT NOT NULL,
    attempt BIGINT NOT NULL,
    done BIGINT NOT NULL,
    lease_expires_us BIGINT NOT NULL,
    started_us BIGINT NOT NULL,
    first_seq BIGINT NOT NULL,
    message_id TEXT NOT NULL,
    outcome {{blob}},
    PRIMARY KEY (tenant, turn_id, step_key)
){{rowless}};

CREATE TABLE turn_outbox (
    tenant TEXT NOT NULL,
    turn_id TEXT NOT NULL,
    session_id TEXT NOT NULL,
    agent_id TEXT NOT NULL,
    summary TEXT NOT NULL,
    again BIGINT NOT NULL,
    create_us BIGINT NOT NULL,
    claimed_until_us BIGINT NOT NULL,
    attempts BIGINT NOT NULL,
    PRIMARY KEY (tenant, turn_id)
){{rowless}};
CREATE INDEX turn_outbox_by_time ON turn_outbox (create_us, turn_id);

CREATE TABLE turn_idempotency (
    tenant TEXT NOT NULL,
    subject TEXT NOT NULL,
    method TEXT NOT NULL,
    idem_key TEXT NOT NULL,
    request_hash TEXT NOT NULL,
    turn_id TEXT NOT NULL,
    expires_us BIGINT NOT NULL,
    PRIMARY KEY (tenant, subject, method, idem_key)
){{strict}};
CREATE INDEX turn_idempotency_by_expiry ON turn_idempotency (expires_us);

-- +goose Down
DROP TABLE turn_idempotency;
DROP TABLE turn_outbox;
DROP TABLE turn_steps;
DROP TABLE turn_journal;
DROP TABLE turn_surfaces;
DROP TABLE turn_inputs;
DROP TABLE turns;
DROP TABLE messages;
DROP TABLE sessions;
DROP TABLE agent_revisions;
DROP TABLE agents;
