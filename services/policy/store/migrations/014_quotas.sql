-- +goose Up
-- Limits that administrators have set. id is "tenant", "users", or "user:" and a subject; 0 = no limit.
CREATE TABLE quotas (
    tenant     TEXT NOT NULL,
    id         TEXT NOT NULL,
    requests   BIGINT NOT NULL,
    turns      BIGINT NOT NULL,
    tokens     BIGINT NOT NULL,
    tool_calls BIGINT NOT NULL,
    created_us BIGINT NOT NULL,
    updated_us BIGINT NOT NULL,
    PRIMARY KEY (tenant, id)
);

-- +goose Down
DROP TABLE quotas;
