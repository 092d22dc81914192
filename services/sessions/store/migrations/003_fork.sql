-- +goose Up
ALTER TABLE sessions ADD COLUMN forked_from_session TEXT NOT NULL DEFAULT '';
ALTER TABLE sessions ADD COLUMN forked_from_seq BIGINT NOT NULL DEFAULT 0;
ALTER TABLE turns ADD COLUMN place BIGINT NOT NULL DEFAULT 0;
ALTER TABLE turns ADD COLUMN urgent BIGINT NOT NULL DEFAULT 0;
UPDATE turns SET place = first_seq;
ALTER TABLE turn_idempotency ADD COLUMN session_id TEXT NOT NULL DEFAULT '';

-- +goose Down
ALTER TABLE turn_idempotency DROP COLUMN session_id;
ALTER TABLE turns DROP COLUMN urgent;
ALTER TABLE turns DROP COLUMN place;
ALTER TABLE sessions DROP COLUMN forked_from_seq;
ALTER TABLE sessions DROP COLUMN forked_from_session;
