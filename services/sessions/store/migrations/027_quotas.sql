-- +goose Up
-- 1: the tokens of the turn count towards the quotas of its tenant and user, which are kept as budgets of the scopes tenant_quota and
-- user_quota.
ALTER TABLE turns ADD COLUMN quota BIGINT NOT NULL DEFAULT 0;

-- +goose Down
ALTER TABLE turns DROP COLUMN quota;
