-- +goose Up
-- Credentials that came with the request of a turn, sealed for it; NULL = none, and from the turn's end on.
ALTER TABLE turns ADD COLUMN provider_data {{blob}};

-- +goose Down
ALTER TABLE turns DROP COLUMN provider_data;
