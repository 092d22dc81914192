-- +goose Up
-- Logins of browsers, by the hash of the secret in the cookie. Gateways encrypt what is in them.
CREATE TABLE logins (
    id         {{blob}} PRIMARY KEY,
    sealed     {{blob}} NOT NULL,
    revision   BIGINT NOT NULL,
    leased_us  BIGINT NOT NULL,
    expires_us BIGINT NOT NULL
);
CREATE INDEX logins_expire ON logins (expires_us);

-- +goose Down
DROP TABLE logins;
