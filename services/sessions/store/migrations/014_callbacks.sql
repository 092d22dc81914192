-- +goose Up
-- The turn of a user that all of it follows from, callbacks of sub-agents in the background included; limits of number count by it.
ALTER TABLE turn_children ADD COLUMN origin_turn_id TEXT NOT NULL DEFAULT '';
-- For a sub-agent in the background: the turn that its result was given to the parent's session with; empty before.
ALTER TABLE turn_children ADD COLUMN callback_turn_id TEXT NOT NULL DEFAULT '';
UPDATE turn_children SET origin_turn_id = root_turn_id;
CREATE INDEX turn_children_by_origin ON turn_children (tenant, origin_turn_id);
CREATE INDEX turn_children_by_callback ON turn_children (tenant, callback_turn_id) WHERE callback_turn_id <> '';

-- +goose Down
DROP INDEX turn_children_by_callback;
DROP INDEX turn_children_by_origin;
ALTER TABLE turn_children DROP COLUMN callback_turn_id;
ALTER TABLE turn_children DROP COLUMN origin_turn_id;
