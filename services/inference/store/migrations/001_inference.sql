-- +goose Up
-- One row per tenant, incremented in the transaction of each change of its routes.
CREATE TABLE route_revisions (
    tenant   TEXT PRIMARY KEY,
    revision BIGINT NOT NULL
);

CREATE TABLE routes (
    tenant     TEXT NOT NULL,
    name       TEXT NOT NULL,
    spec       {{json}} NOT NULL,
    revision   BIGINT NOT NULL,
    created_us BIGINT NOT NULL,
    updated_us BIGINT NOT NULL,
    PRIMARY KEY (tenant, name)
);

-- +goose Down
DROP TABLE routes;
DROP TABLE route_revisions;
