-- The schema of the first release. Databases with earlier migrations, up to 10, are of versions before it, and are refused.
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
    drifted_count BIGINT NOT NULL DEFAULT 0,
    -- Of a source whose tools come from a document: the digest of what the tools were made of, and what could not become a tool (JSON).
    digest TEXT NOT NULL DEFAULT '',
    warnings TEXT NOT NULL DEFAULT '',
    -- Subject whose login lists the tools of a source that wants a login of each user: who created, changed or synced it last.
    login_subject TEXT NOT NULL DEFAULT '',
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
    -- Of a tool of a pinned source: the definition that its source has now and nobody has accepted yet.
    drifted_hash TEXT NOT NULL DEFAULT '',
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
    -- Tags (JSON) and deprecation of a tool, as its source describes it.
    tags TEXT NOT NULL DEFAULT '',
    deprecated BOOLEAN NOT NULL DEFAULT FALSE,
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
    -- Under which approval a call ran, and what somebody said became of one whose outcome was unknown.
    approval_id TEXT NOT NULL DEFAULT '',
    resolution TEXT NOT NULL DEFAULT '',
    resolution_id TEXT NOT NULL DEFAULT '',
    resolved_by TEXT NOT NULL DEFAULT '',
    resolution_comment TEXT NOT NULL DEFAULT '',
    resolved_us BIGINT NOT NULL DEFAULT 0,
    -- When another replica was asked to stop the call; 0 = nobody did. The replica that runs it reads this with its next sign of life.
    stop_us BIGINT NOT NULL DEFAULT 0,
    -- 'hit' for a call that was answered from the cache, 'miss' for one that was sent although its result can be kept.
    cache TEXT NOT NULL DEFAULT '',
    -- Arguments of the call as JSON text, if they are not too long.
    arguments TEXT NOT NULL DEFAULT '',
    PRIMARY KEY (tenant, id),
    UNIQUE (tenant, key)
);
CREATE INDEX executions_by_time ON executions (tenant, created_us, id);
CREATE INDEX executions_by_turn ON executions (tenant, turn_id, created_us, id) WHERE turn_id <> '';
CREATE INDEX executions_by_tool ON executions (tenant, tool, created_us, id);
CREATE INDEX executions_open ON executions (owner) WHERE state = 'open';
-- Has all that statistics read, so that they do not read rows with results.
CREATE INDEX executions_insight ON executions (tenant, created_us, tool, source, state, is_error, cache, latency_us);
CREATE INDEX executions_by_session ON executions (tenant, session_id, created_us, id) WHERE session_id <> '';

-- Named sets of tools. Which tools they stand for is found when it is asked for.
CREATE TABLE tool_groups (
    tenant     TEXT NOT NULL,
    name       TEXT NOT NULL,
    spec       {{json}} NOT NULL,
    created_us BIGINT NOT NULL,
    updated_us BIGINT NOT NULL,
    PRIMARY KEY (tenant, name)
);

-- Documents that are part of a source, instead of behind its URL.
CREATE TABLE source_documents (
    tenant     TEXT NOT NULL,
    source_id  TEXT NOT NULL,
    document   TEXT NOT NULL,
    PRIMARY KEY (tenant, source_id),
    FOREIGN KEY (tenant, source_id) REFERENCES sources (tenant, id) ON DELETE CASCADE
);

-- Domain events (JSON). seq is 0 until the event has its number in the tenant's log; place orders the events of one transaction. Others than owner,
-- if it is not empty, see the event as administrators only.
CREATE TABLE registry_events (
    tenant     TEXT NOT NULL,
    id         TEXT NOT NULL,
    seq        BIGINT NOT NULL,
    place      BIGINT NOT NULL,
    type       TEXT NOT NULL,
    subject    TEXT NOT NULL,
    time_us    BIGINT NOT NULL,
    data       TEXT NOT NULL,
    owner      TEXT NOT NULL,
    erase_with TEXT NOT NULL,
    PRIMARY KEY (tenant, id)
);
CREATE UNIQUE INDEX registry_events_seq ON registry_events (tenant, seq) WHERE seq > 0;
CREATE INDEX registry_events_type ON registry_events (tenant, type, seq) WHERE seq > 0;
CREATE INDEX registry_events_new ON registry_events (tenant) WHERE seq = 0;
CREATE INDEX registry_events_erase ON registry_events (tenant, erase_with) WHERE erase_with <> '';

-- The number and the time of the last event of each tenant's log.
CREATE TABLE registry_event_heads (
    tenant  TEXT NOT NULL PRIMARY KEY,
    seq     BIGINT NOT NULL,
    time_us BIGINT NOT NULL
);

-- +goose Down
DROP TABLE registry_event_heads;
DROP TABLE registry_events;
DROP TABLE source_documents;
DROP TABLE tool_groups;
DROP TABLE executions;
DROP TABLE tool_definitions;
DROP TABLE tools;
DROP TABLE sources;
