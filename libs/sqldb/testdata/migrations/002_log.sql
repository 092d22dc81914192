-- +goose Up
CREATE TABLE log (
  seq  {{identity}},
  text TEXT NOT NULL
);
