-- +goose Up
-- Of a source whose tools come from a document: the digest of what the tools were made of, and what could not become a tool (JSON).
ALTER TABLE sources ADD COLUMN digest TEXT NOT NULL DEFAULT '';
ALTER TABLE sources ADD COLUMN warnings TEXT NOT NULL DEFAULT '';
-- Documents that are part of a source, instead of behind its URL.
CREATE TABLE source_documents (
    tenant     TEXT NOT NULL,
    source_id  TEXT NOT NULL,
    document   TEXT NOT NULL,
    PRIMARY KEY (tenant, source_id),
    FOREIGN KEY (tenant, source_id) REFERENCES sources (tenant, id) ON DELETE CASCADE
);
-- Tags (JSON) and deprecation of a tool, as its source describes it.
ALTER TABLE tool_definitions ADD COLUMN tags TEXT NOT NULL DEFAULT '';
ALTER TABLE tool_definitions ADD COLUMN deprecated BOOLEAN NOT NULL DEFAULT FALSE;

-- +goose Down
ALTER TABLE tool_definitions DROP COLUMN deprecated;
ALTER TABLE tool_definitions DROP COLUMN tags;
DROP TABLE source_documents;
ALTER TABLE sources DROP COLUMN warnings;
ALTER TABLE sources DROP COLUMN digest;
