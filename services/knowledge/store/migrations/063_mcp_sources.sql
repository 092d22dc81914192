-- +goose Up
-- Who created a source of a kind that is read as its user; NULL for others.
ALTER TABLE bank_sources ADD COLUMN principal {{blob}};

-- +goose Down
ALTER TABLE bank_sources DROP COLUMN principal;
