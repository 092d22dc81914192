-- +goose Up
-- Turns that have a grant in the policy service. due_us is 0 until the turn has ended; then it is when policy is next told so.
CREATE TABLE turn_grants (
    tenant   TEXT NOT NULL,
    turn_id  TEXT NOT NULL,
    due_us   BIGINT NOT NULL,
    attempts BIGINT NOT NULL,
    PRIMARY KEY (tenant, turn_id)
);
CREATE INDEX turn_grants_due ON turn_grants (due_us) WHERE due_us > 0;

-- +goose Down
DROP TABLE turn_grants;
