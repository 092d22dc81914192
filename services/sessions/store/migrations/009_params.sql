-- +goose Up
-- The params of a session as JSON, '' when it has none.
ALTER TABLE sessions ADD COLUMN params TEXT NOT NULL DEFAULT '';

-- +goose Down
ALTER TABLE sessions DROP COLUMN params;
