-- +goose Up
-- Turns that may be worked on: active, not over, and waiting for nothing. Those among them that no worker has are looked for all the time.
CREATE INDEX turns_workable ON turns (create_us, id) WHERE end_us = 0 AND open_waits = 0 AND place < 4294967295;

-- +goose Down
DROP INDEX turns_workable;
