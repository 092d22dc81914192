-- +goose Up
-- Domain events (JSON). seq is 0 until the event has its number in the tenant's log; place orders the events of one transaction. Others than owner,
-- if it is not empty, see the event as administrators only.
CREATE TABLE policy_events (
    tenant     TEXT NOT NULL,
    id         TEXT NOT NULL,
    seq        BIGINT NOT NULL,
    place      BIGINT NOT NULL,
    type       TEXT NOT NULL,
    subject    TEXT NOT NULL,
    time_us    BIGINT NOT NULL,
    data       TEXT NOT NULL,
    owner      TEXT NOT NULL,
    erase_with TEXT NOT NULL,
    PRIMARY KEY (tenant, id)
);
CREATE UNIQUE INDEX policy_events_seq ON policy_events (tenant, seq) WHERE seq > 0;
CREATE INDEX policy_events_type ON policy_events (tenant, type, seq) WHERE seq > 0;
CREATE INDEX policy_events_new ON policy_events (tenant) WHERE seq = 0;
CREATE INDEX policy_events_erase ON policy_events (tenant, erase_with) WHERE erase_with <> '';
-- The number and the time of the last event of each tenant's log.
CREATE TABLE policy_event_heads (
    tenant  TEXT NOT NULL PRIMARY KEY,
    seq     BIGINT NOT NULL,
    time_us BIGINT NOT NULL
);

-- +goose Down
DROP TABLE policy_event_heads;
DROP TABLE policy_events;
