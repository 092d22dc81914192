-- The record of the decision on a call, until policy has it.
-- +goose Up
ALTER TABLE executions ADD COLUMN decision {{blob}};
CREATE INDEX executions_undelivered ON executions (created_us) WHERE decision IS NOT NULL;

-- +goose Down
DROP INDEX executions_undelivered;
ALTER TABLE executions DROP COLUMN decision;
