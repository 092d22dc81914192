-- +goose Up
-- Of the latest version: when its workflow was started, 0 = not yet; and how many attempts to ingest it have begun.
ALTER TABLE documents ADD COLUMN start_us BIGINT NOT NULL DEFAULT 0;
ALTER TABLE documents ADD COLUMN attempts BIGINT NOT NULL DEFAULT 0;
DROP INDEX documents_queued;
CREATE INDEX documents_pending ON documents (start_us, update_us) WHERE state IN ('queued', 'ingesting');

-- +goose Down
DROP INDEX documents_pending;
CREATE INDEX documents_queued ON documents (update_us) WHERE state IN ('queued', 'ingesting');
ALTER TABLE documents DROP COLUMN attempts;
ALTER TABLE documents DROP COLUMN start_us;
