-- +goose Up
-- The last record that retention removed from a tenant's chain: what is left is verified from its hash on.
CREATE TABLE audit_anchors (
    tenant TEXT PRIMARY KEY,
    seq    BIGINT NOT NULL,
    hash   TEXT NOT NULL
);
-- Whose login it is, for the record of the logout; empty if an earlier version made it.
ALTER TABLE logins ADD COLUMN tenant TEXT NOT NULL DEFAULT '';
ALTER TABLE logins ADD COLUMN subject TEXT NOT NULL DEFAULT '';

-- +goose Down
ALTER TABLE logins DROP COLUMN subject;
ALTER TABLE logins DROP COLUMN tenant;
DROP TABLE audit_anchors;
