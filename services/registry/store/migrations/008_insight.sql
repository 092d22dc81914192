-- +goose Up
-- Arguments of the call as JSON text, if they are not too long.
ALTER TABLE executions ADD COLUMN arguments TEXT NOT NULL DEFAULT '';
-- Has all that statistics read, so that they do not read rows with results.
CREATE INDEX executions_insight ON executions (tenant, created_us, tool, source, state, is_error, cache, latency_us);
DROP INDEX executions_cached;
CREATE INDEX executions_by_session ON executions (tenant, session_id, created_us, id) WHERE session_id <> '';

-- +goose Down
DROP INDEX executions_by_session;
CREATE INDEX executions_cached ON executions (tenant, created_us, cache) WHERE cache <> '';
DROP INDEX executions_insight;
ALTER TABLE executions DROP COLUMN arguments;
