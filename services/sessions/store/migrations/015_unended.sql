-- +goose Up
-- A session's turns that are not over: looked for at the beginning and the end of each of its turns, of which it may have many.
CREATE INDEX turns_unended ON turns (tenant, session_id) WHERE end_us = 0;

-- +goose Down
DROP INDEX turns_unended;
