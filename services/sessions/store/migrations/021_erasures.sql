-- +goose Up
-- Turns of deleted sessions of which other services still have something. A row goes when nothing is left.
CREATE TABLE turn_erasures (
    tenant   TEXT NOT NULL,
    turn_id  TEXT NOT NULL,
    due_us   BIGINT NOT NULL,
    attempts BIGINT NOT NULL,
    PRIMARY KEY (tenant, turn_id)
){{strict}};
CREATE INDEX turn_erasures_due ON turn_erasures (due_us);

-- +goose Down
DROP TABLE turn_erasures;
