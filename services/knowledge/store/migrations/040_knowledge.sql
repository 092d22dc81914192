-- +goose Up
-- Named sets of documents. documents, chunks and length (words of all chunks) are of what searches find.
CREATE TABLE banks (
    tenant       TEXT NOT NULL,
    id           TEXT NOT NULL,
    display_name TEXT NOT NULL,
    description  TEXT NOT NULL,
    subject      TEXT NOT NULL,
    documents    BIGINT NOT NULL,
    chunks       BIGINT NOT NULL,
    length       BIGINT NOT NULL,
    create_us    BIGINT NOT NULL,
    update_us    BIGINT NOT NULL,
    PRIMARY KEY (tenant, id)
){{rowless}};

-- media_type, size, sha256, state and problem are of the latest version; title, text_bytes and chunks of the live one, which searches find.
CREATE TABLE documents (
    tenant         TEXT NOT NULL,
    id             TEXT NOT NULL,
    bank           TEXT NOT NULL,
    name           TEXT NOT NULL,
    media_type     TEXT NOT NULL,
    size           BIGINT NOT NULL,
    sha256         TEXT NOT NULL,
    state          TEXT NOT NULL,
    problem        TEXT NOT NULL,
    live_version   TEXT NOT NULL,
    latest_version TEXT NOT NULL,
    title          TEXT NOT NULL,
    text_bytes     BIGINT NOT NULL,
    chunks         BIGINT NOT NULL,
    labels         {{json}} NOT NULL,
    attributes     {{json}} NOT NULL,
    subject        TEXT NOT NULL,
    create_us      BIGINT NOT NULL,
    update_us      BIGINT NOT NULL,
    PRIMARY KEY (tenant, id),
    UNIQUE (tenant, bank, name)
){{strict}};
CREATE INDEX documents_by_bank ON documents (tenant, bank, id);
-- Documents that wait to be ingested.
CREATE INDEX documents_queued ON documents (update_us) WHERE state IN ('queued', 'ingesting');

-- What documents.labels and documents.attributes have, for filters.
CREATE TABLE document_labels (
    tenant   TEXT NOT NULL,
    document TEXT NOT NULL,
    name     TEXT NOT NULL,
    bank     TEXT NOT NULL,
    PRIMARY KEY (tenant, document, name)
){{rowless}};
CREATE INDEX document_labels_by_bank ON document_labels (tenant, bank, name);
CREATE TABLE document_attributes (
    tenant   TEXT NOT NULL,
    document TEXT NOT NULL,
    name     TEXT NOT NULL,
    value    TEXT NOT NULL,
    bank     TEXT NOT NULL,
    PRIMARY KEY (tenant, document, name)
){{rowless}};
CREATE INDEX document_attributes_by_bank ON document_attributes (tenant, bank);

-- A document has at most two versions: the live one and the latest. text is UTF-8, and empty before it was read.
CREATE TABLE document_versions (
    tenant     TEXT NOT NULL,
    id         TEXT NOT NULL,
    bank       TEXT NOT NULL,
    document   TEXT NOT NULL,
    media_type TEXT NOT NULL,
    size       BIGINT NOT NULL,
    sha256     TEXT NOT NULL,
    title      TEXT NOT NULL,
    text       {{blob}} NOT NULL,
    create_us  BIGINT NOT NULL,
    PRIMARY KEY (tenant, id)
){{strict}};
CREATE INDEX document_versions_by_document ON document_versions (tenant, document);
CREATE INDEX document_versions_by_bank ON document_versions (tenant, bank, sha256);

-- Content of versions. refs counts the versions that have it.
CREATE TABLE document_blobs (
    tenant TEXT NOT NULL,
    sha256 TEXT NOT NULL,
    refs   BIGINT NOT NULL,
    data   {{blob}} NOT NULL,
    PRIMARY KEY (tenant, sha256)
){{strict}};

-- Chunks of live versions: text[start_byte:end_byte] of the version. words has each analysed word as often as it occurs, separated by
-- spaces; bank_word stands for the tenant's bank in the index.
CREATE TABLE chunks (
    id         {{identity}},
    tenant     TEXT NOT NULL,
    bank       TEXT NOT NULL,
    document   TEXT NOT NULL,
    version    TEXT NOT NULL,
    ordinal    BIGINT NOT NULL,
    start_byte BIGINT NOT NULL,
    end_byte   BIGINT NOT NULL,
    page       BIGINT NOT NULL,
    heading    {{json}} NOT NULL,
    bank_word  TEXT NOT NULL,
    words      TEXT NOT NULL,
    length     BIGINT NOT NULL,
    UNIQUE (tenant, document, ordinal)
){{strict}};
CREATE INDEX chunks_by_bank ON chunks (tenant, bank);

-- In how many chunks of a bank a word is.
CREATE TABLE terms (
    tenant    TEXT NOT NULL,
    bank      TEXT NOT NULL,
    word      TEXT NOT NULL,
    frequency BIGINT NOT NULL,
    PRIMARY KEY (tenant, bank, word)
){{rowless}};

-- The index of chunks by words. The database keeps it up to date. Deleted entries are overwritten.
-- +sqlite
CREATE VIRTUAL TABLE chunk_index USING fts5 (bank_word, words, content='chunks', content_rowid='id', tokenize='unicode61 remove_diacritics 0');
INSERT INTO chunk_index (chunk_index, rank) VALUES ('secure-delete', 1);
CREATE TRIGGER chunks_inserted AFTER INSERT ON chunks BEGIN
    INSERT INTO chunk_index (rowid, bank_word, words) VALUES (new.id, new.bank_word, new.words);
END;
CREATE TRIGGER chunks_deleted AFTER DELETE ON chunks BEGIN
    INSERT INTO chunk_index (chunk_index, rowid, bank_word, words) VALUES ('delete', old.id, old.bank_word, old.words);
END;
-- +postgres
ALTER TABLE chunks ADD COLUMN word_index TSVECTOR GENERATED ALWAYS AS (
    array_to_tsvector(string_to_array(CASE WHEN words = '' THEN bank_word ELSE bank_word || ' ' || words END, ' '))
) STORED;
CREATE INDEX chunks_by_word ON chunks USING GIN (word_index);
-- +all

-- +goose Down
DROP TABLE terms;
DROP TABLE chunks;
DROP TABLE document_blobs;
DROP TABLE document_versions;
DROP TABLE document_attributes;
DROP TABLE document_labels;
DROP TABLE documents;
DROP TABLE banks;
