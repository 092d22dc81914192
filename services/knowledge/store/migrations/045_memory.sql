-- +goose Up
-- Users of whom something is, or was, remembered. Transactions that change facts lock the row of their user.
CREATE TABLE memory_owners (
    tenant  TEXT NOT NULL,
    subject TEXT NOT NULL,
    off     BOOLEAN NOT NULL,
    PRIMARY KEY (tenant, subject)
){{rowless}};

-- What is remembered about users. valid_to_us is 0 without an end.
CREATE TABLE facts (
    tenant        TEXT NOT NULL,
    subject       TEXT NOT NULL,
    id            TEXT NOT NULL,
    agent         TEXT NOT NULL,
    entity        TEXT NOT NULL,
    attribute     TEXT NOT NULL,
    value         TEXT NOT NULL,
    text          TEXT NOT NULL,
    valid_from_us BIGINT NOT NULL,
    valid_to_us   BIGINT NOT NULL,
    state         TEXT NOT NULL,
    trust         BIGINT NOT NULL,
    superseded_by TEXT NOT NULL,
    session_id    TEXT NOT NULL,
    turn_id       TEXT NOT NULL,
    call_id       TEXT NOT NULL,
    tainted       BOOLEAN NOT NULL,
    create_us     BIGINT NOT NULL,
    update_us     BIGINT NOT NULL,
    PRIMARY KEY (tenant, subject, id)
){{rowless}};

-- Keyed hashes of what users have had forgotten.
CREATE TABLE fact_marks (
    tenant  TEXT NOT NULL,
    subject TEXT NOT NULL,
    mark    TEXT NOT NULL,
    at_us   BIGINT NOT NULL,
    PRIMARY KEY (tenant, subject, mark)
){{rowless}};

-- +goose Down
DROP TABLE fact_marks;
DROP TABLE facts;
DROP TABLE memory_owners;
