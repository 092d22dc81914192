-- The schema of the first release. Databases with earlier migrations, up to 19, are of versions before it, and are refused.
-- +goose Up
CREATE TABLE decisions (
    tenant         TEXT NOT NULL,
    id             TEXT NOT NULL,
    created_us     BIGINT NOT NULL,
    subject        TEXT NOT NULL,
    kind           TEXT NOT NULL,
    resource       TEXT NOT NULL,
    method         TEXT NOT NULL,
    allowed        BOOLEAN NOT NULL,
    rule           TEXT NOT NULL,
    reason         TEXT NOT NULL,
    source         TEXT NOT NULL,
    effect         TEXT NOT NULL,
    arguments_hash TEXT NOT NULL,
    turn_id        TEXT NOT NULL,
    call_id        TEXT NOT NULL,
    policy_revision BIGINT NOT NULL DEFAULT 0,
    policies TEXT NOT NULL DEFAULT '',
    input_hash TEXT NOT NULL DEFAULT '',
    latency_us BIGINT NOT NULL DEFAULT 0,
    -- Decisions that are not in the audit trail yet.
    audited BOOLEAN NOT NULL DEFAULT TRUE,
    actor TEXT NOT NULL DEFAULT '',
    PRIMARY KEY (tenant, id)
);
CREATE INDEX decisions_by_time ON decisions (tenant, created_us, id);
CREATE INDEX decisions_by_turn ON decisions (tenant, turn_id, created_us, id) WHERE turn_id <> '';
CREATE INDEX decisions_unaudited ON decisions (tenant, created_us, id) WHERE NOT audited;

-- One row per tenant, incremented in the transaction of each change of its policies.
CREATE TABLE policy_revisions (
    tenant   TEXT PRIMARY KEY,
    revision BIGINT NOT NULL
);

CREATE TABLE access_policies (
    tenant          TEXT NOT NULL,
    name            TEXT NOT NULL,
    spec            {{json}} NOT NULL,
    revision        BIGINT NOT NULL,
    policy_revision BIGINT NOT NULL,
    created_us      BIGINT NOT NULL,
    updated_us      BIGINT NOT NULL,
    PRIMARY KEY (tenant, name)
);

-- Principals as policies saw them, once for all decisions about the same one.
CREATE TABLE decision_inputs (
    tenant     TEXT NOT NULL,
    hash       TEXT NOT NULL,
    subject    TEXT NOT NULL,
    principal  {{blob}} NOT NULL,
    used_us BIGINT NOT NULL,
    PRIMARY KEY (tenant, hash)
);
CREATE INDEX decision_inputs_by_subject ON decision_inputs (tenant, subject, used_us);
CREATE INDEX decision_inputs_by_use ON decision_inputs (used_us);

-- The data keys of the vault, encrypted with the master key. One row, which writers lock.
CREATE TABLE vault_keys (
    id          BIGINT PRIMARY KEY,
    wrapped     {{blob}} NOT NULL,
    revision    BIGINT NOT NULL,
    updated_us  BIGINT NOT NULL
);

-- Secrets, their values encrypted with a data key.
CREATE TABLE secrets (
    tenant      TEXT NOT NULL,
    name        TEXT NOT NULL,
    description TEXT NOT NULL,
    version     BIGINT NOT NULL,
    sealed      {{blob}} NOT NULL,
    set_by      TEXT NOT NULL,
    created_us  BIGINT NOT NULL,
    updated_us  BIGINT NOT NULL,
    PRIMARY KEY (tenant, name)
);

-- What the mesh needs to act for a user: tokens of the user's issuer, encrypted with a data key of the vault; NULL = none, or ended.
CREATE TABLE grant_logins (
    tenant         TEXT NOT NULL,
    id             TEXT NOT NULL,
    subject        TEXT NOT NULL,
    issuer         TEXT NOT NULL,
    -- issuer_subject is the user's name at the issuer.
    issuer_subject TEXT NOT NULL,
    -- token_hash is that of the token that the user presented: several turns of one login share the row.
    token_hash     TEXT NOT NULL,
    sealed_access  {{blob}},
    access_us      BIGINT NOT NULL,
    sealed_refresh {{blob}},
    -- version counts the tokens; lease_us is until when one replica has the right to replace them.
    version        BIGINT NOT NULL,
    lease_us       BIGINT NOT NULL,
    created_us     BIGINT NOT NULL,
    PRIMARY KEY (tenant, id)
);
CREATE UNIQUE INDEX grant_logins_token ON grant_logins (tenant, subject, token_hash);

-- Authorizations of turns to act for their users.
CREATE TABLE grants (
    tenant     TEXT NOT NULL,
    id         TEXT NOT NULL,
    turn_id    TEXT NOT NULL,
    subject    TEXT NOT NULL,
    issuer     TEXT NOT NULL,
    -- login_id is empty if the turn began without a login.
    login_id   TEXT NOT NULL,
    -- parent_id is the grant of the turn that started this one; empty = none.
    parent_id  TEXT NOT NULL,
    revoked_us BIGINT NOT NULL,
    created_us BIGINT NOT NULL,
    expires_us BIGINT NOT NULL,
    PRIMARY KEY (tenant, id)
);
CREATE UNIQUE INDEX grants_by_turn ON grants (tenant, turn_id);
CREATE INDEX grants_by_subject ON grants (tenant, subject, created_us, id);
CREATE INDEX grants_by_login ON grants (tenant, login_id);
CREATE INDEX grants_by_parent ON grants (tenant, parent_id) WHERE parent_id <> '';
CREATE INDEX grants_by_expiry ON grants (expires_us);

-- Users' logins at sources, their tokens encrypted with a data key. One replica at a time refreshes a token: the owner of the refresh.
CREATE TABLE connections (
    tenant            TEXT NOT NULL,
    subject           TEXT NOT NULL,
    source_id         TEXT NOT NULL,
    source            TEXT NOT NULL,
    target            TEXT NOT NULL,
    issuer            TEXT NOT NULL,
    client            TEXT NOT NULL,
    scopes            TEXT NOT NULL,
    version           BIGINT NOT NULL,
    ended             BOOLEAN NOT NULL,
    refreshable       BOOLEAN NOT NULL,
    sealed            {{blob}} NOT NULL,
    expires_us        BIGINT NOT NULL,
    refresh_owner     TEXT NOT NULL,
    refresh_until_us  BIGINT NOT NULL,
    created_us        BIGINT NOT NULL,
    updated_us        BIGINT NOT NULL,
    -- wanted are scopes that the source wants besides those that were granted. method is how a registered client authenticates at the token
    -- endpoint; empty = as the secret says.
    wanted TEXT NOT NULL DEFAULT '',
    PRIMARY KEY (tenant, subject, source_id)
);

-- Attempts to make one. Tickets, states and secrets of browsers are hashed, the PKCE verifier is encrypted.
CREATE TABLE connection_attempts (
    id          TEXT PRIMARY KEY,
    tenant      TEXT NOT NULL,
    subject     TEXT NOT NULL,
    source_id   TEXT NOT NULL,
    source      TEXT NOT NULL,
    target      TEXT NOT NULL,
    login       TEXT NOT NULL,
    stage       TEXT NOT NULL,
    error       TEXT NOT NULL,
    ticket      TEXT NOT NULL,
    consent     TEXT NOT NULL,
    state       TEXT NOT NULL,
    binding     TEXT NOT NULL,
    sealed      {{blob}} NOT NULL,
    created_us  BIGINT NOT NULL,
    expires_us  BIGINT NOT NULL
);
CREATE INDEX connection_attempts_owner ON connection_attempts (tenant, subject, expires_us);
CREATE UNIQUE INDEX connection_attempts_ticket ON connection_attempts (ticket);
CREATE UNIQUE INDEX connection_attempts_state ON connection_attempts (state) WHERE state <> '';
CREATE INDEX connection_attempts_expiry ON connection_attempts (expires_us);

-- Clients that registered themselves at an authorization server, their secret encrypted with a data key.
CREATE TABLE connection_clients (
    tenant      TEXT NOT NULL,
    issuer      TEXT NOT NULL,
    redirect    TEXT NOT NULL,
    client_id   TEXT NOT NULL,
    sealed      {{blob}} NOT NULL,
    created_us  BIGINT NOT NULL,
    method TEXT NOT NULL DEFAULT '',
    PRIMARY KEY (tenant, issuer, redirect)
);

-- One row per audited fact. seq is its place in the tenant's chain, 0 until it has one.
CREATE TABLE audit_records (
    tenant     TEXT NOT NULL,
    id         TEXT NOT NULL,
    seq        BIGINT NOT NULL,
    time_us    BIGINT NOT NULL,
    subject    TEXT NOT NULL,
    actor      TEXT NOT NULL,
    action     TEXT NOT NULL,
    resource   TEXT NOT NULL,
    outcome    TEXT NOT NULL,
    reason     TEXT NOT NULL,
    turn_id    TEXT NOT NULL,
    session_id TEXT NOT NULL,
    call_id    TEXT NOT NULL,
    request_id TEXT NOT NULL,
    links_hash TEXT NOT NULL,
    hash       TEXT NOT NULL,
    PRIMARY KEY (tenant, id)
);
CREATE UNIQUE INDEX audit_records_by_seq ON audit_records (tenant, seq) WHERE seq > 0;
CREATE INDEX audit_records_pending ON audit_records (tenant, time_us, id) WHERE seq = 0;
CREATE INDEX audit_records_by_turn ON audit_records (tenant, turn_id) WHERE turn_id <> '';

-- The end of each tenant's chain. Who extends the chain locks it.
CREATE TABLE audit_heads (
    tenant  TEXT PRIMARY KEY,
    seq     BIGINT NOT NULL,
    time_us BIGINT NOT NULL,
    hash    TEXT NOT NULL
);

-- Logins of browsers, by the hash of the secret in the cookie. Gateways encrypt what is in them.
CREATE TABLE logins (
    id         {{blob}} PRIMARY KEY,
    sealed     {{blob}} NOT NULL,
    revision   BIGINT NOT NULL,
    leased_us  BIGINT NOT NULL,
    expires_us BIGINT NOT NULL,
    -- Whose login it is, for the record of the logout.
    tenant TEXT NOT NULL DEFAULT '',
    subject TEXT NOT NULL DEFAULT ''
);
CREATE INDEX logins_expire ON logins (expires_us);

-- Limits that administrators have set. id is "tenant", "users", or "user:" and a subject; 0 = no limit.
CREATE TABLE quotas (
    tenant     TEXT NOT NULL,
    id         TEXT NOT NULL,
    requests   BIGINT NOT NULL,
    turns      BIGINT NOT NULL,
    tokens     BIGINT NOT NULL,
    tool_calls BIGINT NOT NULL,
    created_us BIGINT NOT NULL,
    updated_us BIGINT NOT NULL,
    PRIMARY KEY (tenant, id)
);

-- Tool calls of a day by a tenant (subject '') and its users, where one of them has a limit.
CREATE TABLE tool_call_counts (
    tenant  TEXT NOT NULL,
    subject TEXT NOT NULL,
    day_us  BIGINT NOT NULL,
    calls   BIGINT NOT NULL,
    PRIMARY KEY (tenant, subject)
);

-- The calls that have been counted, so that one that is tried again is not counted again.
CREATE TABLE counted_tool_calls (
    tenant   TEXT NOT NULL,
    call_key TEXT NOT NULL,
    day_us   BIGINT NOT NULL,
    PRIMARY KEY (tenant, call_key)
);
CREATE INDEX counted_tool_calls_by_day ON counted_tool_calls (tenant, day_us);

-- Requests of a minute that have been leased to processes, of a tenant (subject '') and its users, where one of them has a limit.
CREATE TABLE request_leases (
    tenant    TEXT NOT NULL,
    subject   TEXT NOT NULL,
    minute_us BIGINT NOT NULL,
    leased    BIGINT NOT NULL,
    PRIMARY KEY (tenant, subject)
);

-- Domain events (JSON). seq is 0 until the event has its number in the tenant's log; place orders the events of one transaction. Others than owner,
-- if it is not empty, see the event as administrators only.
CREATE TABLE policy_events (
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
CREATE UNIQUE INDEX policy_events_seq ON policy_events (tenant, seq) WHERE seq > 0;
CREATE INDEX policy_events_type ON policy_events (tenant, type, seq) WHERE seq > 0;
CREATE INDEX policy_events_new ON policy_events (tenant) WHERE seq = 0;
CREATE INDEX policy_events_erase ON policy_events (tenant, erase_with) WHERE erase_with <> '';

-- The number and the time of the last event of each tenant's log.
CREATE TABLE policy_event_heads (
    tenant  TEXT NOT NULL PRIMARY KEY,
    seq     BIGINT NOT NULL,
    time_us BIGINT NOT NULL
);

-- The last record that retention removed from a tenant's chain: what is left is verified from its hash on.
CREATE TABLE audit_anchors (
    tenant TEXT PRIMARY KEY,
    seq    BIGINT NOT NULL,
    hash   TEXT NOT NULL
);

-- +goose Down
DROP TABLE audit_anchors;
DROP TABLE policy_event_heads;
DROP TABLE policy_events;
DROP TABLE request_leases;
DROP TABLE counted_tool_calls;
DROP TABLE tool_call_counts;
DROP TABLE quotas;
DROP TABLE logins;
DROP TABLE audit_heads;
DROP TABLE audit_records;
DROP TABLE connection_clients;
DROP TABLE connection_attempts;
DROP TABLE connections;
DROP TABLE grants;
DROP TABLE grant_logins;
DROP TABLE secrets;
DROP TABLE vault_keys;
DROP TABLE decision_inputs;
DROP TABLE access_policies;
DROP TABLE policy_revisions;
DROP TABLE decisions;
