-- +goose Up
-- Which turn was begun by which. A row is there before its turn is.
CREATE TABLE turn_children (
    tenant TEXT NOT NULL,
    turn_id TEXT NOT NULL,
    session_id TEXT NOT NULL,
    agent_id TEXT NOT NULL,
    parent_turn_id TEXT NOT NULL,
    parent_session_id TEXT NOT NULL,
    root_turn_id TEXT NOT NULL,
    step_key TEXT NOT NULL,
    call_id TEXT NOT NULL,
    depth BIGINT NOT NULL,
    background BIGINT NOT NULL,
    -- The parent has been told of its end.
    told BIGINT NOT NULL,
    create_us BIGINT NOT NULL,
    PRIMARY KEY (tenant, turn_id)
){{rowless}};
CREATE UNIQUE INDEX turn_children_by_step ON turn_children (tenant, parent_turn_id, step_key);
CREATE INDEX turn_children_by_root ON turn_children (tenant, root_turn_id);
CREATE INDEX turn_children_untold ON turn_children (create_us) WHERE told = 0;
-- The agents above a sub-agent's turn and its own, separated by "/"; empty for the turn of a user.
ALTER TABLE turns ADD COLUMN agent_path TEXT NOT NULL DEFAULT '';
-- How many turns of sub-agents it began.
ALTER TABLE turns ADD COLUMN children BIGINT NOT NULL DEFAULT 0;
ALTER TABLE sessions ADD COLUMN parent_session_id TEXT NOT NULL DEFAULT '';
ALTER TABLE sessions ADD COLUMN parent_turn_id TEXT NOT NULL DEFAULT '';

-- +goose Down
ALTER TABLE sessions DROP COLUMN parent_turn_id;
ALTER TABLE sessions DROP COLUMN parent_session_id;
ALTER TABLE turns DROP COLUMN children;
ALTER TABLE turns DROP COLUMN agent_path;
DROP TABLE turn_children;
