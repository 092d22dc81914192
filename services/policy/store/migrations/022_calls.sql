-- +goose Up
CREATE INDEX decisions_by_call ON decisions (tenant, call_id, created_us, id) WHERE call_id <> '';

-- +goose Down
DROP INDEX decisions_by_call;
