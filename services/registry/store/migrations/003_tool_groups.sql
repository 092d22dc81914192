-- +goose Up
-- Named sets of tools. Which tools they stand for is found when it is asked for.
CREATE TABLE tool_groups (
    tenant     TEXT NOT NULL,
    name       TEXT NOT NULL,
    spec       {{json}} NOT NULL,
    created_us BIGINT NOT NULL,
    updated_us BIGINT NOT NULL,
    PRIMARY KEY (tenant, name)
);

-- +goose Down
DROP TABLE tool_groups;
