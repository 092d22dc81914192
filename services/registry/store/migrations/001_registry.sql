-- +goose Up
CREATE TABLE sources (
    tenant           TEXT NOT NULL,
    id               TEXT NOT NULL,
    name             TEXT NOT NULL,
    kind             TEXT NOT NULL,
    spec             {{json}} NOT NULL,
    disabled         BOOLEAN NOT NULL,
    state            TEXT NOT NULL,
    last_error       TEXT NOT NULL,
    synced_us        BIGINT NOT NULL,
    tool_count       BIGINT NOT NULL,
    server_version   TEXT NOT NULL,
    protocol_version TEXT NOT NULL,
    created_us       BIGINT NOT NULL,
    updated_us       BIGINT NOT NULL,
    revision         BIGINT NOT NULL,
    PRIMARY KEY (tenant, id),
    UNIQUE (tenant, name)
);

-- A tool that its source no longer has stays with present = false, so that it gets the same name when it comes back.
CREATE TABLE tools (
    tenant          TEXT NOT NULL,
    name            TEXT NOT NULL,
    source_id       TEXT NOT NULL,
    original_name   TEXT NOT NULL,
    definition_hash TEXT NOT NULL,
    present         BOOLEAN NOT NULL,
    created_us      BIGINT NOT NULL,
    updated_us      BIGINT NOT NULL,
    PRIMARY KEY (tenant, name),
    UNIQUE (tenant, source_id, original_name),
    FOREIGN KEY (tenant, source_id) REFERENCES sources (tenant, id) ON DELETE CASCADE
);

-- Definitions are kept for ever: a running turn, and whoever reads an old one, needs the surface it was pinned to.
CREATE TABLE tool_definitions (
    tenant        TEXT NOT NULL,
    hash          TEXT NOT NULL,
    name          TEXT NOT NULL,
    source        TEXT NOT NULL,
    original_name TEXT NOT NULL,
    title         TEXT NOT NULL,
    description   TEXT NOT NULL,
    raw_json      {{blob}} NOT NULL,
    input_schema  {{blob}} NOT NULL,
    output_schema {{blob}} NOT NULL,
    effect        BIGINT NOT NULL,
    created_us    BIGINT NOT NULL,
    PRIMARY KEY (tenant, hash)
);

-- The effect ledger: a row is committed before its call leaves.
CREATE TABLE executions (
    tenant          TEXT NOT NULL,
    id              TEXT NOT NULL,
    key             TEXT NOT NULL,
    tool            TEXT NOT NULL,
    source          TEXT NOT NULL,
    definition_hash TEXT NOT NULL,
    turn_id         TEXT NOT NULL,
    session_id      TEXT NOT NULL,
    call_id         TEXT NOT NULL,
    subject         TEXT NOT NULL,
    effect          BIGINT NOT NULL,
    state           TEXT NOT NULL,
    attempts        BIGINT NOT NULL,
    arguments_hash  TEXT NOT NULL,
    decision_id     TEXT NOT NULL,
    is_error        BOOLEAN NOT NULL,
    code            TEXT NOT NULL,
    result          {{blob}},
    latency_us      BIGINT NOT NULL,
    owner           TEXT NOT NULL,
    lease_us        BIGINT NOT NULL,
    created_us      BIGINT NOT NULL,
    ended_us        BIGINT NOT NULL,
    PRIMARY KEY (tenant, id),
    UNIQUE (tenant, key)
);
CREATE INDEX executions_by_time ON executions (tenant, created_us, id);
CREATE INDEX executions_by_turn ON executions (tenant, turn_id, created_us, id) WHERE turn_id <> '';
CREATE INDEX executions_by_tool ON executions (tenant, tool, created_us, id);
CREATE INDEX executions_open ON executions (owner) WHERE state = 'open';

-- +goose Down
DROP TABLE executions;
DROP TABLE tool_definitions;
DROP TABLE tools;
DROP TABLE sources;
