package main

import (
	"database/sql"
	"path/filepath"
	"testing"
)

const insertVisible = `INSERT INTO executions_visibility
	(namespace_id, run_id, start_time, execution_time, workflow_id, workflow_type_name, status, encoding, search_attributes)
	VALUES ('n', ?, '2026-01-01', '2026-01-01', 'w', 't', 1, '', ?)`

// TestSparseTriggers searches by words and by lists of keywords, in rows that have some, had some, or have none.
func TestSparseTriggers(t *testing.T) {
	file := filepath.Join(t.TempDir(), "temporal.db")
	if err := createFile(t.Context(), file); err != nil {
		t.Fatal(err)
	}
	db, err := openFile(file, "rw")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	do := func(query string, args ...any) {
		t.Helper()
		if _, err := db.Exec(query, args...); err != nil {
			t.Fatal(err)
		}
	}
	for run, attributes := range map[string]string{
		"text": `{"Text01": "green apples"}`, "list": `{"BuildIds": "one♡two"}`, "both": `{"Text02": "apples", "KeywordList01": "two"}`, "none": `{}`,
	} {
		do(insertVisible, run, attributes)
	}
	steps := []struct {
		change      string
		words, list int
	}{
		{"", 2, 2},
		{`UPDATE executions_visibility SET status = 2`, 2, 2},
		{`UPDATE executions_visibility SET search_attributes = '{"Text01": "apples"}' WHERE run_id = 'none'`, 3, 2},
		{`UPDATE executions_visibility SET search_attributes = '{"BuildIds": "two", "Text01": "pears"}' WHERE run_id = 'text'`, 2, 3},
		{`UPDATE executions_visibility SET search_attributes = NULL WHERE run_id = 'both'`, 1, 2},
		{`DELETE FROM executions_visibility WHERE run_id = 'both'`, 1, 2},
		{`DELETE FROM executions_visibility WHERE run_id = 'list'`, 1, 1},
		{`DELETE FROM executions_visibility`, 0, 0},
	}
	for _, step := range steps {
		do(step.change)
		words, list := matches(t, db, "executions_visibility_fts_text", "apples"), matches(t, db, "executions_visibility_fts_keyword_list", "two")
		if words != step.words || list != step.list {
			t.Errorf("after %q: %d rows with the word and %d with the keyword, want %d and %d", step.change, words, list, step.words, step.list)
		}
	}
}

func matches(t *testing.T, db *sql.DB, index, word string) (n int) {
	t.Helper()
	if err := db.QueryRow("SELECT count(*) FROM executions_visibility WHERE rowid IN (SELECT rowid FROM "+index+" WHERE "+index+" MATCH ?)",
		word).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}
