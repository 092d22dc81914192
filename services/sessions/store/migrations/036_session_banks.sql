-- +goose Up
-- The ids of the banks that the turns of a session answer from, joined by commas; '' = those of its agent.
ALTER TABLE sessions ADD COLUMN banks TEXT NOT NULL DEFAULT '';

-- +goose Down
ALTER TABLE sessions DROP COLUMN banks;
