-- Turns and sessions that were erased in the last hour: a call whose row is written after its end may be one of theirs.
-- +goose Up
CREATE TABLE executions_forgotten (
    tenant TEXT NOT NULL,
    id     TEXT NOT NULL,
    at_us  BIGINT NOT NULL,
    PRIMARY KEY (id, tenant)
);
CREATE INDEX executions_forgotten_by_time ON executions_forgotten (at_us);

-- +goose Down
DROP TABLE executions_forgotten;
