-- +goose Up
-- People whose input a turn has taken, besides whoever began it. requesters of a wait are those by whose input its call came about, as JSON; '' = the
-- requester alone.
CREATE TABLE turn_requesters (
    tenant TEXT NOT NULL,
    turn_id TEXT NOT NULL,
    subject TEXT NOT NULL,
    PRIMARY KEY (tenant, turn_id, subject)
){{rowless}};
ALTER TABLE turn_waits ADD COLUMN requesters TEXT NOT NULL DEFAULT '';

-- +goose Down
ALTER TABLE turn_waits DROP COLUMN requesters;
DROP TABLE turn_requesters;
