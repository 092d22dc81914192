-- +goose Up
CREATE TABLE decisions (
    tenant         TEXT NOT NULL,
    id             TEXT NOT NULL,
    created_us     BIGINT NOT NULL,
    subject        TEXT NOT NULL,
    kind           TEXT NOT NULL,
    resource       TEXT NOT NULL,
    method         TEXT NOT NULL,
    allowed        BOOLEAN NOT NULL,
    rule           TEXT NOT NULL,
    reason         TEXT NOT NULL,
    source         TEXT NOT NULL,
    effect         TEXT NOT NULL,
    arguments_hash TEXT NOT NULL,
    turn_id        TEXT NOT NULL,
    call_id        TEXT NOT NULL,
    PRIMARY KEY (tenant, id)
);
CREATE INDEX decisions_by_time ON decisions (tenant, created_us, id);
CREATE INDEX decisions_by_turn ON decisions (tenant, turn_id, created_us, id) WHERE turn_id <> '';

-- +goose Down
DROP TABLE decisions;
