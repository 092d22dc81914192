-- +goose Up
-- What users uploaded. Its bytes are in artifact_blobs.
CREATE TABLE files (
    tenant TEXT NOT NULL,
    id TEXT NOT NULL,
    subject TEXT NOT NULL,
    name TEXT NOT NULL,
    media_type TEXT NOT NULL,
    size BIGINT NOT NULL,
    sha256 TEXT NOT NULL,
    width BIGINT NOT NULL,
    height BIGINT NOT NULL,
    create_us BIGINT NOT NULL,
    PRIMARY KEY (tenant, id)
){{rowless}};
CREATE INDEX files_by_subject ON files (tenant, subject, id);

-- How many bytes the files of a subject have together.
CREATE TABLE file_usage (
    tenant TEXT NOT NULL,
    subject TEXT NOT NULL,
    bytes BIGINT NOT NULL,
    PRIMARY KEY (tenant, subject)
){{rowless}};

-- +goose Down
DROP TABLE file_usage;
DROP TABLE files;
