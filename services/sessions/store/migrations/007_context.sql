-- +goose Up
-- What models are shown of a conversation: about how large it is, and the event that last compacted it.
ALTER TABLE sessions ADD COLUMN context_bytes BIGINT NOT NULL DEFAULT 0;
ALTER TABLE sessions ADD COLUMN compacted_seq BIGINT NOT NULL DEFAULT 0;
UPDATE sessions SET context_bytes = (SELECT COALESCE(SUM(LENGTH(data)), 0) FROM messages
    WHERE messages.tenant = sessions.tenant AND messages.session_id = sessions.id);

CREATE TABLE compactions (
    tenant TEXT NOT NULL,
    session_id TEXT NOT NULL,
    seq BIGINT NOT NULL,
    turn_id TEXT NOT NULL,
    to_turn_seq BIGINT NOT NULL,
    to_place BIGINT NOT NULL,
    to_seq BIGINT NOT NULL,
    data {{blob}} NOT NULL,
    PRIMARY KEY (tenant, session_id, seq)
){{strict}};

-- The same artifact may be in several sessions, where one is a fork of another; its bytes are kept once.
CREATE TABLE artifacts (
    tenant TEXT NOT NULL,
    id TEXT NOT NULL,
    session_id TEXT NOT NULL,
    turn_id TEXT NOT NULL,
    call_id TEXT NOT NULL,
    name TEXT NOT NULL,
    media_type TEXT NOT NULL,
    size BIGINT NOT NULL,
    sha256 TEXT NOT NULL,
    create_us BIGINT NOT NULL,
    PRIMARY KEY (tenant, id, session_id)
){{rowless}};
CREATE INDEX artifacts_by_session ON artifacts (tenant, session_id, create_us, id);

CREATE TABLE artifact_blobs (
    tenant TEXT NOT NULL,
    sha256 TEXT NOT NULL,
    refs BIGINT NOT NULL,
    data {{blob}} NOT NULL,
    PRIMARY KEY (tenant, sha256)
){{strict}};

-- +goose Down
DROP TABLE artifact_blobs;
DROP TABLE artifacts;
DROP TABLE compactions;
ALTER TABLE sessions DROP COLUMN compacted_seq;
ALTER TABLE sessions DROP COLUMN context_bytes;
