-- +goose Up
-- Where documents of a bank are read from. state, problem, progress and problems are of the latest sync, whose id is sync: start_us is when
-- its workflow was started (0 = not yet), attempts how often it has begun. next_us is when the next one is due, 0 = never.
CREATE TABLE bank_sources (
    tenant    TEXT NOT NULL,
    id        TEXT NOT NULL,
    bank      TEXT NOT NULL,
    subject   TEXT NOT NULL,
    spec      {{json}} NOT NULL,
    paused    BIGINT NOT NULL,
    state     TEXT NOT NULL,
    problem   TEXT NOT NULL,
    sync      TEXT NOT NULL,
    start_us  BIGINT NOT NULL,
    attempts  BIGINT NOT NULL,
    progress  {{json}} NOT NULL,
    problems  {{json}} NOT NULL,
    create_us BIGINT NOT NULL,
    sync_us   BIGINT NOT NULL,
    next_us   BIGINT NOT NULL,
    PRIMARY KEY (tenant, id)
){{strict}};
CREATE INDEX bank_sources_by_bank ON bank_sources (tenant, bank, id);
CREATE INDEX bank_sources_by_sync ON bank_sources (tenant, sync);
CREATE INDEX bank_sources_pending ON bank_sources (start_us) WHERE state IN ('queued', 'syncing');
CREATE INDEX bank_sources_due ON bank_sources (next_us) WHERE next_us > 0;
CREATE INDEX bank_sources_deleting ON bank_sources (id) WHERE state = 'deleting';

-- What a source had at its last sync, and the document that it became. validator says whether an item changed without reading it (an entity
-- tag, for example), sha256 is the hash of what was read, and labels are those that the item brought itself.
CREATE TABLE source_items (
    tenant    TEXT NOT NULL,
    source    TEXT NOT NULL,
    item      TEXT NOT NULL,
    bank      TEXT NOT NULL,
    document  TEXT NOT NULL,
    validator TEXT NOT NULL,
    sha256    TEXT NOT NULL,
    labels    {{json}} NOT NULL,
    PRIMARY KEY (tenant, source, item)
){{rowless}};
CREATE INDEX source_items_by_bank ON source_items (tenant, bank);

-- Nothing of a paused bank is ingested.
ALTER TABLE banks ADD COLUMN paused BIGINT NOT NULL DEFAULT 0;
CREATE INDEX documents_by_state ON documents (tenant, bank, state);

-- +goose Down
DROP INDEX documents_by_state;
ALTER TABLE banks DROP COLUMN paused;
DROP TABLE source_items;
DROP TABLE bank_sources;
