-- +goose Up
CREATE TABLE items (
  id      TEXT PRIMARY KEY,
  n       BIGINT NOT NULL DEFAULT 0,
  doc     {{json}},
  raw     {{blob}},
  created BIGINT NOT NULL DEFAULT 0
){{strict}};
CREATE TABLE parts (
  item TEXT NOT NULL REFERENCES items (id) ON DELETE CASCADE,
  seq  BIGINT NOT NULL,
  PRIMARY KEY (item, seq)
){{strict}};
