-- +goose Up
-- What an executor calls a session of ours.
CREATE TABLE session_executors (
    tenant TEXT NOT NULL,
    session_id TEXT NOT NULL,
    executor_hash TEXT NOT NULL,
    executor_session_id TEXT NOT NULL,
    update_us BIGINT NOT NULL,
    PRIMARY KEY (tenant, session_id)
){{strict}};

-- +goose Down
DROP TABLE session_executors;
