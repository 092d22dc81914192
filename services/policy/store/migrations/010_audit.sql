-- +goose Up
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

-- +goose Down
DROP TABLE audit_heads;
DROP TABLE audit_records;
