-- +goose Up
-- Under which approval a call ran, and what somebody said became of one whose outcome was unknown.
ALTER TABLE executions ADD COLUMN approval_id TEXT NOT NULL DEFAULT '';
ALTER TABLE executions ADD COLUMN resolution TEXT NOT NULL DEFAULT '';
ALTER TABLE executions ADD COLUMN resolution_id TEXT NOT NULL DEFAULT '';
ALTER TABLE executions ADD COLUMN resolved_by TEXT NOT NULL DEFAULT '';
ALTER TABLE executions ADD COLUMN resolution_comment TEXT NOT NULL DEFAULT '';
ALTER TABLE executions ADD COLUMN resolved_us BIGINT NOT NULL DEFAULT 0;

-- +goose Down
ALTER TABLE executions DROP COLUMN resolved_us;
ALTER TABLE executions DROP COLUMN resolution_comment;
ALTER TABLE executions DROP COLUMN resolved_by;
ALTER TABLE executions DROP COLUMN resolution_id;
ALTER TABLE executions DROP COLUMN resolution;
ALTER TABLE executions DROP COLUMN approval_id;
