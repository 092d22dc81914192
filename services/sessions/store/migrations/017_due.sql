-- +goose Up
-- A result that is not delivered yet: how often that was tried, when it is tried next, and whether the journal of the parent's session says why not.
ALTER TABLE turn_children ADD COLUMN attempts BIGINT NOT NULL DEFAULT 0;
ALTER TABLE turn_children ADD COLUMN next_us BIGINT NOT NULL DEFAULT 0;
ALTER TABLE turn_children ADD COLUMN undelivered BIGINT NOT NULL DEFAULT 0;
DROP INDEX turn_children_untold;
CREATE INDEX turn_children_due ON turn_children (next_us) WHERE told = 0;
-- When a wait whose time is up is looked at again after an error.
ALTER TABLE turn_waits ADD COLUMN check_us BIGINT NOT NULL DEFAULT 0;

-- +goose Down
ALTER TABLE turn_waits DROP COLUMN check_us;
DROP INDEX turn_children_due;
CREATE INDEX turn_children_untold ON turn_children (create_us) WHERE told = 0;
ALTER TABLE turn_children DROP COLUMN undelivered;
ALTER TABLE turn_children DROP COLUMN next_us;
ALTER TABLE turn_children DROP COLUMN attempts;
