-- +goose Up
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

-- +goose Down
DROP TABLE secrets;
DROP TABLE vault_keys;
