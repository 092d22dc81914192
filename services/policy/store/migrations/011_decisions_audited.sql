-- +goose Up
-- Decisions that are not in the audit trail yet. Those of earlier versions stay out of it.
ALTER TABLE decisions ADD COLUMN audited BOOLEAN NOT NULL DEFAULT TRUE;
ALTER TABLE decisions ADD COLUMN actor TEXT NOT NULL DEFAULT '';
CREATE INDEX decisions_unaudited ON decisions (tenant, created_us, id) WHERE NOT audited;
CREATE INDEX decision_inputs_by_use ON decision_inputs (used_us);

-- +goose Down
DROP INDEX decision_inputs_by_use;
DROP INDEX decisions_unaudited;
ALTER TABLE decisions DROP COLUMN actor;
ALTER TABLE decisions DROP COLUMN audited;
