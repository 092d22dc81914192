-- +goose Up
-- Files that arrive in parts. The bytes of an upload count in file_usage from its beginning; file_id is empty until all have arrived.
CREATE TABLE uploads (
    tenant TEXT NOT NULL,
    id TEXT NOT NULL,
    subject TEXT NOT NULL,
    name TEXT NOT NULL,
    media_type TEXT NOT NULL,
    size BIGINT NOT NULL,
    received BIGINT NOT NULL,
    file_id TEXT NOT NULL,
    expire_us BIGINT NOT NULL,
    PRIMARY KEY (tenant, id)
){{rowless}};
CREATE INDEX uploads_by_subject ON uploads (tenant, subject);
CREATE INDEX uploads_by_expiry ON uploads (expire_us);

-- What has arrived of them.
CREATE TABLE upload_parts (
    tenant TEXT NOT NULL,
    upload_id TEXT NOT NULL,
    start BIGINT NOT NULL,
    data {{blob}} NOT NULL,
    PRIMARY KEY (tenant, upload_id, start)
){{strict}};

-- +goose Down
DROP TABLE upload_parts;
DROP TABLE uploads;
