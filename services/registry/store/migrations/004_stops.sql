-- +goose Up
-- When another replica was asked to stop the call; 0 = nobody did. The replica that runs it reads this with its next sign of life.
ALTER TABLE executions ADD COLUMN stop_us BIGINT NOT NULL DEFAULT 0;

-- +goose Down
ALTER TABLE executions DROP COLUMN stop_us;
