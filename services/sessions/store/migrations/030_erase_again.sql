-- +goose Up
-- Until then the start of the turn's workflow may be on its way: what it made is erased after that.
ALTER TABLE turn_erasures ADD COLUMN again_us BIGINT NOT NULL DEFAULT 0;

-- +goose Down
ALTER TABLE turn_erasures DROP COLUMN again_us;
