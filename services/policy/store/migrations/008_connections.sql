-- +goose Up
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
    PRIMARY KEY (tenant, issuer, redirect)
);

-- +goose Down
DROP TABLE connection_clients;
DROP TABLE connection_attempts;
DROP TABLE connections;
