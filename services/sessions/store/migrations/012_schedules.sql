-- +goose Up
-- Turns that begin by the clock. A row is the truth; Temporal's schedule is made after it. A deleted one stays until Temporal has forgotten it.
CREATE TABLE schedules (
    tenant TEXT NOT NULL,
    id TEXT NOT NULL,
    subject TEXT NOT NULL,
    -- A windlass.sessions.v1.Schedule: what its owner set.
    data {{blob}} NOT NULL,
    -- The windlass.policy.v1.Principal that its turns run for.
    principal {{blob}} NOT NULL,
    paused BIGINT NOT NULL,
    deleted BIGINT NOT NULL,
    revision BIGINT NOT NULL,
    -- The revision that Temporal has.
    synced BIGINT NOT NULL,
    -- When Temporal is next told or asked.
    check_us BIGINT NOT NULL,
    attempts BIGINT NOT NULL,
    last_fire_us BIGINT NOT NULL,
    last_turn_id TEXT NOT NULL,
    last_error TEXT NOT NULL,
    create_us BIGINT NOT NULL,
    update_us BIGINT NOT NULL,
    PRIMARY KEY (tenant, id)
){{strict}};
CREATE INDEX schedules_by_check ON schedules (check_us);

-- Each time that a schedule fired: the newest ones, and those that are not settled.
CREATE TABLE schedule_fires (
    tenant TEXT NOT NULL,
    schedule_id TEXT NOT NULL,
    -- The time that it was due, or what makes a request to run it unique.
    fire_key TEXT NOT NULL,
    manual BIGINT NOT NULL,
    due_us BIGINT NOT NULL,
    create_us BIGINT NOT NULL,
    outcome TEXT NOT NULL,
    -- Not settled yet; look_us is when somebody may look at it.
    pending BIGINT NOT NULL,
    look_us BIGINT NOT NULL,
    turn_id TEXT NOT NULL,
    session_id TEXT NOT NULL,
    error TEXT NOT NULL,
    PRIMARY KEY (tenant, schedule_id, fire_key)
){{rowless}};
CREATE INDEX schedule_fires_by_time ON schedule_fires (tenant, schedule_id, create_us);
CREATE INDEX schedule_fires_pending ON schedule_fires (look_us) WHERE pending = 1;

-- The schedule that began a turn, '' for others.
ALTER TABLE turn_inputs ADD COLUMN schedule_id TEXT NOT NULL DEFAULT '';

-- +goose Down
ALTER TABLE turn_inputs DROP COLUMN schedule_id;
DROP TABLE schedule_fires;
DROP TABLE schedules;
