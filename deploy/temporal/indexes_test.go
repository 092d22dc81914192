package main

import (
	"path/filepath"
	"slices"
	"testing"
)

func TestOnlyKeptIndexesAreWritten(t *testing.T) {
	file := filepath.Join(t.TempDir(), "temporal.db")
	if err := createFile(t.Context(), file); err != nil {
		t.Fatal(err)
	}
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
