-- +goose Up
-- owner is the subject of the turn's session, so that the turns of a subject can be listed by an index.
ALTER TABLE turns ADD COLUMN owner TEXT NOT NULL DEFAULT '';
UPDATE turns SET owner = COALESCE((SELECT s.subject FROM sessions s WHERE s.tenant = turns.tenant AND s.id = turns.session_id), '');
CREATE INDEX turns_by_owner ON turns (tenant, owner, create_us, id);
-- By status: those that have ended get their entry once, and of the others there are few.
CREATE INDEX turns_ended_by_status ON turns (tenant, status, create_us, id) WHERE end_us > 0;
CREATE INDEX turns_ended_by_owner ON turns (tenant, owner, status, create_us, id) WHERE end_us > 0;
CREATE INDEX turns_unended_by_status ON turns (tenant, status, create_us, id) WHERE end_us = 0;
CREATE INDEX sessions_by_subject ON sessions (tenant, subject, create_us, id);
CREATE INDEX sessions_by_agent ON sessions (tenant, agent_id, create_us, id);
CREATE INDEX sessions_by_subject_agent ON sessions (tenant, subject, agent_id, create_us, id);

-- +goose Down
DROP INDEX sessions_by_subject_agent;
DROP INDEX sessions_by_agent;
DROP INDEX sessions_by_subject;
DROP INDEX turns_unended_by_status;
DROP INDEX turns_ended_by_owner;
DROP INDEX turns_ended_by_status;
DROP INDEX turns_by_owner;
ALTER TABLE turns DROP COLUMN owner;
