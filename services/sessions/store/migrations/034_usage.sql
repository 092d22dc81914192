-- +goose Up
-- What a step has used, for statistics: its outcome, which has it too, cannot be read by SQL. Steps that ended before have no time here.
ALTER TABLE turn_steps ADD COLUMN ended_us BIGINT NOT NULL DEFAULT 0;
ALTER TABLE turn_steps ADD COLUMN model TEXT NOT NULL DEFAULT '';
ALTER TABLE turn_steps ADD COLUMN input_tokens BIGINT NOT NULL DEFAULT 0;
ALTER TABLE turn_steps ADD COLUMN output_tokens BIGINT NOT NULL DEFAULT 0;
ALTER TABLE turn_steps ADD COLUMN cost_micros BIGINT NOT NULL DEFAULT 0;
ALTER TABLE turn_steps ADD COLUMN model_calls BIGINT NOT NULL DEFAULT 0;
ALTER TABLE turn_steps ADD COLUMN tool_calls BIGINT NOT NULL DEFAULT 0;
ALTER TABLE turn_steps ADD COLUMN failed BIGINT NOT NULL DEFAULT 0;
CREATE INDEX turn_steps_by_end ON turn_steps (tenant, ended_us) WHERE ended_us > 0;

-- +goose Down
DROP INDEX turn_steps_by_end;
ALTER TABLE turn_steps DROP COLUMN failed;
ALTER TABLE turn_steps DROP COLUMN tool_calls;
ALTER TABLE turn_steps DROP COLUMN model_calls;
ALTER TABLE turn_steps DROP COLUMN cost_micros;
ALTER TABLE turn_steps DROP COLUMN output_tokens;
ALTER TABLE turn_steps DROP COLUMN input_tokens;
ALTER TABLE turn_steps DROP COLUMN model;
ALTER TABLE turn_steps DROP COLUMN ended_us;
