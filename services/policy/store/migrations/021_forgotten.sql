-- Turns that were erased in the last hour: a decision that is recorded after its answer may be one of theirs.
-- +goose Up
CREATE TABLE decisions_forgotten (
    tenant TEXT NOT NULL,
    id     TEXT NOT NULL,
    at_us  BIGINT NOT NULL,
    PRIMARY KEY (id, tenant)
);
CREATE INDEX decisions_forgotten_by_time ON decisions_forgotten (at_us);

-- +goose Down
DROP TABLE decisions_forgotten;
