-- +goose Up
ALTER TABLE decisions ADD COLUMN policy_revision BIGINT NOT NULL DEFAULT 0;
ALTER TABLE decisions ADD COLUMN policies TEXT NOT NULL DEFAULT '';
ALTER TABLE decisions ADD COLUMN input_hash TEXT NOT NULL DEFAULT '';
ALTER TABLE decisions ADD COLUMN latency_us BIGINT NOT NULL DEFAULT 0;
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

-- +goose Down
DROP TABLE decision_inputs;
ALTER TABLE decisions DROP COLUMN latency_us;
ALTER TABLE decisions DROP COLUMN input_hash;
ALTER TABLE decisions DROP COLUMN policies;
ALTER TABLE decisions DROP COLUMN policy_revision;
