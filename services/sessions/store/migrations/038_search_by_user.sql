-- +goose Up
-- Words are ordered by user: a search of one user's sessions does not read those of all others who have the word. What a search of anyone's
-- sessions reads is the index by word. The words are stored anew from the messages.
DROP TABLE search_words;
CREATE TABLE search_words (
    tenant TEXT NOT NULL,
    word {{blob}} NOT NULL,
    subject TEXT NOT NULL,
    session_id TEXT NOT NULL,
    turn_id TEXT NOT NULL,
    title BIGINT NOT NULL,
    PRIMARY KEY (tenant, subject, word, session_id, turn_id, title)
){{rowless}};
CREATE INDEX search_words_by_word ON search_words (tenant, word);
CREATE INDEX search_words_by_session ON search_words (tenant, session_id, title);
UPDATE session_search SET seq = -9223372036854775807, due = 1;

-- +goose Down
DROP TABLE search_words;
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
UPDATE session_search SET seq = -9223372036854775807, due = 1;
