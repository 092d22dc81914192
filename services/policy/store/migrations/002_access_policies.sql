-- +goose Up
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

-- +goose Down
DROP TABLE access_policies;
DROP TABLE policy_revisions;
