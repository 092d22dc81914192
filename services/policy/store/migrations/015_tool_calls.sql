-- +goose Up
-- Tool calls of a day by a tenant (subject '') and its users, where one of them has a limit.
CREATE TABLE tool_call_counts (
    tenant  TEXT NOT NULL,
    subject TEXT NOT NULL,
    day_us  BIGINT NOT NULL,
    calls   BIGINT NOT NULL,
    PRIMARY KEY (tenant, subject)
);
-- The calls that have been counted, so that one that is tried again is not counted again.
CREATE TABLE counted_tool_calls (
    tenant   TEXT NOT NULL,
    call_key TEXT NOT NULL,
    day_us   BIGINT NOT NULL,
    PRIMARY KEY (tenant, call_key)
);
CREATE INDEX counted_tool_calls_by_day ON counted_tool_calls (tenant, day_us);

-- +goose Down
DROP TABLE counted_tool_calls;
DROP TABLE tool_call_counts;
