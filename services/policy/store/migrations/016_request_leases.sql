-- +goose Up
-- Requests of a minute that have been leased to processes, of a tenant (subject '') and its users, where one of them has a limit.
CREATE TABLE request_leases (
    tenant    TEXT NOT NULL,
    subject   TEXT NOT NULL,
    minute_us BIGINT NOT NULL,
    leased    BIGINT NOT NULL,
    PRIMARY KEY (tenant, subject)
);

-- +goose Down
DROP TABLE request_leases;
