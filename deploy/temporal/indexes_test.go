package main

import (
	"path/filepath"
	"slices"
	"testing"
)

// TestOnlyKeptIndexesAreWritten checks a new file, and one whose indexes an earlier version kept.
func TestOnlyKeptIndexesAreWritten(t *testing.T) {
	file := filepath.Join(t.TempDir(), "temporal.db")
	if err := createFile(t.Context(), file); err != nil {
		t.Fatal(err)
	}
	wantKept(t, file)
	db, err := openFile(file, "rw")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.ExecContext(t.Context(), `CREATE INDEX by_int_01 ON executions_visibility (namespace_id, Int01)`); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if err := checkFile(t.Context(), file); err != nil {
		t.Fatal(err)
	}
	wantKept(t, file)
}

func wantKept(t *testing.T, file string) {
	t.Helper()
	db, err := openFile(file, "rw")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	tx, err := db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback() //nolint:errcheck // it only reads
	got, err := visibilityIndexes(t.Context(), tx)
	if want := slices.Sorted(slices.Values(keptIndexes)); err != nil || !slices.Equal(got, want) {
		t.Errorf("indexes %v, want %v (%v)", got, want, err)
	}
}
