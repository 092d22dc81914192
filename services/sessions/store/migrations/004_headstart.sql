-- +goose Up
-- Turns that end before their workflow is started stay in the outbox, to be started when nothing else waits.
ALTER TABLE turn_outbox ADD COLUMN ended BIGINT NOT NULL DEFAULT 0;
DROP INDEX turn_outbox_by_time;
CREATE INDEX turn_outbox_by_time ON turn_outbox (ended, create_us, turn_id);
-- Leases that have run out are looked for all the time.
CREATE INDEX turn_steps_leased ON turn_steps (lease_expires_us) WHERE done = 0 AND lease_expires_us > 0;

-- +goose Down
DROP INDEX turn_steps_leased;
DROP INDEX turn_outbox_by_time;
CREATE INDEX turn_outbox_by_time ON turn_outbox (create_us, turn_id);
ALTER TABLE turn_outbox DROP COLUMN ended;
