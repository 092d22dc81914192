-- +goose Up
-- 'hit' for a call that was answered from the cache, 'miss' for one that was sent although its result can be kept.
ALTER TABLE executions ADD COLUMN cache TEXT NOT NULL DEFAULT '';
CREATE INDEX executions_cached ON executions (tenant, created_us, cache) WHERE cache <> '';

-- +goose Down
DROP INDEX executions_cached;
ALTER TABLE executions DROP COLUMN cache;
