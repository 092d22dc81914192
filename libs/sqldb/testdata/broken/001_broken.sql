-- +goose Up
CREATE TABLE half (id TEXT PRIMARY KEY);
INSERT INTO nowhere VALUES (1);
