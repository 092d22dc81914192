-- +goose Up
CREATE TABLE turn_waits (
    tenant TEXT NOT NULL,
    id TEXT NOT NULL,
    turn_id TEXT NOT NULL,
    session_id TEXT NOT NULL,
    agent_id TEXT NOT NULL,
    owner TEXT NOT NULL,
    requester TEXT NOT NULL,
    step_key TEXT NOT NULL,
    kind BIGINT NOT NULL,
    call_id TEXT NOT NULL,
    tool TEXT NOT NULL,
    verdict BIGINT NOT NULL,
    create_us BIGINT NOT NULL,
    expires_us BIGINT NOT NULL,
    end_us BIGINT NOT NULL,
    request {{blob}} NOT NULL,
    answer {{blob}},
    PRIMARY KEY (tenant, id)
){{strict}};
CREATE INDEX turn_waits_by_turn ON turn_waits (tenant, turn_id);
CREATE INDEX turn_waits_by_session ON turn_waits (tenant, session_id);
CREATE INDEX turn_waits_by_time ON turn_waits (tenant, create_us, id);
CREATE INDEX turn_waits_open ON turn_waits (tenant, create_us, id) WHERE verdict = 0;
CREATE INDEX turn_waits_due ON turn_waits (expires_us) WHERE verdict = 0 AND expires_us > 0;

-- Roles of which an approver needs one.
CREATE TABLE turn_wait_roles (
    tenant TEXT NOT NULL,
    wait_id TEXT NOT NULL,
    role TEXT NOT NULL,
    PRIMARY KEY (tenant, wait_id, role)
){{rowless}};

ALTER TABLE turns ADD COLUMN open_waits BIGINT NOT NULL DEFAULT 0;
ALTER TABLE turns ADD COLUMN people_waits BIGINT NOT NULL DEFAULT 0;
ALTER TABLE turns ADD COLUMN paused_us BIGINT NOT NULL DEFAULT 0;
ALTER TABLE turns ADD COLUMN inputs BIGINT NOT NULL DEFAULT 0;
ALTER TABLE turns ADD COLUMN rouse_us BIGINT NOT NULL DEFAULT 0;
-- Turns that wait for people are left out: they neither count as under way nor can they be lost.
DROP INDEX turns_open;
CREATE INDEX turns_open ON turns (dispatched_us) WHERE end_us = 0 AND paused_us = 0;
CREATE INDEX turns_to_rouse ON turns (rouse_us) WHERE rouse_us > 0;

-- Where a message stands in the conversation of its turn: at its seq, or behind what was said before anybody could read it.
ALTER TABLE messages ADD COLUMN place BIGINT NOT NULL DEFAULT 0;
UPDATE messages SET place = seq;
DROP INDEX messages_by_turn;
CREATE INDEX messages_by_turn ON messages (tenant, session_id, turn_seq, place, seq);

ALTER TABLE turn_inputs ADD COLUMN client_tools {{blob}};
ALTER TABLE turn_idempotency ADD COLUMN message_id TEXT NOT NULL DEFAULT '';

-- +goose Down
ALTER TABLE turn_idempotency DROP COLUMN message_id;
ALTER TABLE turn_inputs DROP COLUMN client_tools;
DROP INDEX messages_by_turn;
ALTER TABLE messages DROP COLUMN place;
CREATE INDEX messages_by_turn ON messages (tenant, session_id, turn_seq, seq);
DROP INDEX turns_to_rouse;
DROP INDEX turns_open;
CREATE INDEX turns_open ON turns (dispatched_us) WHERE end_us = 0;
ALTER TABLE turns DROP COLUMN rouse_us;
ALTER TABLE turns DROP COLUMN inputs;
ALTER TABLE turns DROP COLUMN paused_us;
ALTER TABLE turns DROP COLUMN people_waits;
ALTER TABLE turns DROP COLUMN open_waits;
DROP TABLE turn_wait_roles;
DROP TABLE turn_waits;
