-- +goose Up
-- wanted are scopes that the source wants besides those that were granted. method is how a registered client authenticates at the token
-- endpoint; empty = as the secret says.
ALTER TABLE connections ADD COLUMN wanted TEXT NOT NULL DEFAULT '';
ALTER TABLE connection_clients ADD COLUMN method TEXT NOT NULL DEFAULT '';

-- +goose Down
ALTER TABLE connection_clients DROP COLUMN method;
ALTER TABLE connections DROP COLUMN wanted;
