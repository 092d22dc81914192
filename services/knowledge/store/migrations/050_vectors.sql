-- +goose Up
-- Embedding models with the length of their vectors. Vectors of two spaces are never compared.
CREATE TABLE spaces (
    id         {{identity}},
    model      TEXT NOT NULL,
    dimensions BIGINT NOT NULL,
    UNIQUE (model, dimensions)
){{strict}};

-- Spaces in which a bank has vectors. vectors counts the chunks that have one; searches use the space that is live. owner is the process
-- that makes vectors until lease_us.
CREATE TABLE bank_spaces (
    tenant   TEXT NOT NULL,
    bank     TEXT NOT NULL,
    space    BIGINT NOT NULL,
    vectors  BIGINT NOT NULL,
    live     BOOLEAN NOT NULL,
    owner    TEXT NOT NULL,
    lease_us BIGINT NOT NULL,
    PRIMARY KEY (tenant, bank, space)
){{rowless}};

-- Vectors of chunks. hash is that of the embedded text; vector has little-endian floats of the length 1, code their signs after a rotation.
-- Both are empty for a text that the model refuses, or to which it gives no direction. seq increases with each commit of a bank.
CREATE TABLE chunk_vectors (
    seq      {{identity}},
    tenant   TEXT NOT NULL,
    bank     TEXT NOT NULL,
    space    BIGINT NOT NULL,
    chunk    BIGINT NOT NULL REFERENCES chunks (id) ON DELETE CASCADE,
    document TEXT NOT NULL,
    ordinal  BIGINT NOT NULL,
    hash     TEXT NOT NULL,
    code     {{blob}} NOT NULL,
    vector   {{blob}} NOT NULL,
    UNIQUE (chunk, space)
){{strict}};
CREATE INDEX chunk_vectors_by_bank ON chunk_vectors (tenant, bank, space, seq);

-- +goose Down
DROP TABLE chunk_vectors;
DROP TABLE bank_spaces;
DROP TABLE spaces;
