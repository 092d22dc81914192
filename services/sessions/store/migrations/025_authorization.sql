-- +goose Up
-- Open waits for the user to log in or to connect a source, kind 6.
CREATE INDEX turn_waits_authorization ON turn_waits (tenant, requester) WHERE verdict = 0 AND kind = 6;

-- +goose Down
DROP INDEX turn_waits_authorization;
