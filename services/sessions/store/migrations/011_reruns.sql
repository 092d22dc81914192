-- +goose Up
ALTER TABLE turn_inputs ADD COLUMN rerun {{blob}};

-- +goose Down
ALTER TABLE turn_inputs DROP COLUMN rerun;
