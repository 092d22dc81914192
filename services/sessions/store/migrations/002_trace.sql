-- +goose Up
ALTER TABLE turns ADD COLUMN trace_parent TEXT NOT NULL DEFAULT '';

-- +goose Down
ALTER TABLE turns DROP COLUMN trace_parent;
