-- +goose Up
CREATE INDEX executions_by_call ON executions (tenant, call_id, created_us, id) WHERE call_id <> '';

-- +goose Down
DROP INDEX executions_by_call;
