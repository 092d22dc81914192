-- +goose Up
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

-- +goose Down
DROP TABLE grants;
DROP TABLE grant_logins;
