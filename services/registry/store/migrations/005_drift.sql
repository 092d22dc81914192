-- +goose Up
-- Of a tool of a pinned source: the definition that its source has now and nobody has accepted yet.
ALTER TABLE tools ADD COLUMN drifted_hash TEXT NOT NULL DEFAULT '';
ALTER TABLE sources ADD COLUMN drifted_count BIGINT NOT NULL DEFAULT 0;

-- +goose Down
ALTER TABLE sources DROP COLUMN drifted_count;
ALTER TABLE tools DROP COLUMN drifted_hash;
