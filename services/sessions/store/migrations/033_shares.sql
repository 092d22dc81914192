-- +goose Up
-- Links to conversations; hash is the SHA-256 of a token. seq is the newest message that is shown, 0 = the share is live.
CREATE TABLE session_shares (
    tenant TEXT NOT NULL,
    id TEXT NOT NULL,
    session_id TEXT NOT NULL,
    hash {{blob}} NOT NULL,
    subject TEXT NOT NULL,
    title TEXT NOT NULL,
    writable BIGINT NOT NULL,
    audience TEXT NOT NULL,
    subjects TEXT NOT NULL,
    live BIGINT NOT NULL,
    seq BIGINT NOT NULL,
    redact BIGINT NOT NULL,
    create_us BIGINT NOT NULL,
    expire_us BIGINT NOT NULL,
    PRIMARY KEY (tenant, id)
){{rowless}};
CREATE UNIQUE INDEX session_shares_by_hash ON session_shares (hash);
CREATE INDEX session_shares_by_session ON session_shares (tenant, session_id, create_us);
CREATE INDEX session_shares_by_expiry ON session_shares (expire_us);

-- +goose Down
DROP TABLE session_shares;
