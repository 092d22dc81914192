-- +goose Up
-- Labels that a document gets when its latest version is live; NULL = those that it has. Until then it has those of the live version, too.
ALTER TABLE documents ADD COLUMN next_labels {{json}};

-- +goose Down
ALTER TABLE documents DROP COLUMN next_labels;
