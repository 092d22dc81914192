-- A record of a decision that policy cannot read.
-- +goose Up
ALTER TABLE executions ADD COLUMN refused_decision {{blob}};

-- +goose Down
ALTER TABLE executions DROP COLUMN refused_decision;
