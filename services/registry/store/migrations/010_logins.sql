-- +goose Up
-- Subject whose login lists the tools of a source that wants a login of each user: who created, changed or synced it last.
ALTER TABLE sources ADD COLUMN login_subject TEXT NOT NULL DEFAULT '';

-- +goose Down
ALTER TABLE sources DROP COLUMN login_subject;
