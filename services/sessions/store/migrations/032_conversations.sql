-- +goose Up
-- What users do with their conversations. delete_us is when a deleted session is erased, 0 = it is not deleted.
ALTER TABLE sessions ADD COLUMN pinned BIGINT NOT NULL DEFAULT 0;
ALTER TABLE sessions ADD COLUMN archived BIGINT NOT NULL DEFAULT 0;
ALTER TABLE sessions ADD COLUMN delete_us BIGINT NOT NULL DEFAULT 0;
CREATE INDEX sessions_deleted ON sessions (delete_us, tenant, id) WHERE delete_us > 0;

-- What a turn cost when it ended, for lists in its order.
ALTER TABLE turns ADD COLUMN cost_micros BIGINT NOT NULL DEFAULT 0;

-- Up to which message the words of a session are in search_words; due = 1: there may be further ones.
CREATE TABLE session_search (
    tenant TEXT NOT NULL,
    session_id TEXT NOT NULL,
    seq BIGINT NOT NULL,
    due BIGINT NOT NULL,
    PRIMARY KEY (tenant, session_id)
){{rowless}};
CREATE INDEX session_search_due ON session_search (due, tenant, session_id) WHERE due > 0;

-- The words of titles and messages; turn_id is '' for those of titles, and of what a forked session began with. Words are bytes, so that
-- both engines order them alike.
CREATE TABLE search_words (
    tenant TEXT NOT NULL,
    word {{blob}} NOT NULL,
    subject TEXT NOT NULL,
    session_id TEXT NOT NULL,
    turn_id TEXT NOT NULL,
    title BIGINT NOT NULL,
    PRIMARY KEY (tenant, word, subject, session_id, turn_id, title)
){{rowless}};
CREATE INDEX search_words_by_session ON search_words (tenant, session_id, title);

INSERT INTO session_search (tenant, session_id, seq, due) SELECT tenant, id, -9223372036854775807, 1 FROM sessions;

-- +goose Down
DROP TABLE search_words;
DROP TABLE session_search;
ALTER TABLE turns DROP COLUMN cost_micros;
DROP INDEX sessions_deleted;
ALTER TABLE sessions DROP COLUMN delete_us;
ALTER TABLE sessions DROP COLUMN archived;
ALTER TABLE sessions DROP COLUMN pinned;
