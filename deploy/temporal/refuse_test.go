package main

import (
	"database/sql"
	"os"
	"path/filepath"
	"testing"
)

func TestPortInUse(t *testing.T) {
	t.Parallel()
	port := takePort(t)
	wantAll(t, fails(t, "--db-filename", dbFile(t), "--port", port), port, "in use", "--port")
	wantAll(t, fails(t, "--db-filename", dbFile(t), "--ui-port", port), port, "in use", "--ui-port")
}

func TestSecondServerOnTheSameFile(t *testing.T) {
	t.Parallel()
	file := dbFile(t)
	first := start(t, "--db-filename", file, "--headless")
	wantAll(t, fails(t, "--db-filename", file, "--headless"), "another server", file, "--db-filename")
	if _, err := first.frontend(t).StartWorkflowExecution(t.Context(), startRequest(t, "unharmed")); err != nil {
		t.Errorf("the first server suffered: %v", err)
	}
}

func TestUnusableFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	foreign := filepath.Join(dir, "foreign.db")
	execSQL(t, foreign, `CREATE TABLE something (x)`)
	newer := filepath.Join(dir, "newer.db")
	execSQL(t, newer, createStamp, `INSERT INTO windlass_stamp VALUES ('`+schemaFingerprint+`', '99.1.0')`)
	older := filepath.Join(dir, "older.db")
	execSQL(t, older, createStamp, `INSERT INTO windlass_stamp VALUES ('0123456789abcdef', '1.20.0')`)
	text := filepath.Join(dir, "text.db")
	if err := os.WriteFile(text, []byte("this is no database, not at all\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	cases := []struct {
		name, file string
		want       []string
	}{
		{"missing directory", filepath.Join(dir, "none", "t.db"), []string{"no directory", "none", "create it"}},
		{"a directory", dir, []string{"is a directory"}},
		{"made by another program", foreign, []string{"not made by windlass-temporal"}},
		{"no database at all", text, []string{"not made by windlass-temporal"}},
		{"made by a newer server", newer, []string{"99.1.0", "move the file away"}},
		{"made with another schema", older, []string{"1.20.0", "move the file away"}},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			wantAll(t, fails(t, "--db-filename", tc.file, "--headless"), tc.want...)
		})
	}
}

func TestReadOnlyDirectory(t *testing.T) {
	t.Parallel()
	if os.Getuid() == 0 {
		t.Skip("root may write everywhere")
	}
	dir := filepath.Join(t.TempDir(), "readonly")
	if err := os.Mkdir(dir, 0o500); err != nil {
		t.Fatal(err)
	}
	wantAll(t, fails(t, "--db-filename", filepath.Join(dir, "t.db")), "cannot write", "--db-filename")
}

func TestSchemaFingerprintIsCurrent(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "t.db")
	if err := createFile(t.Context(), file); err != nil {
		t.Fatal(err)
	}
	db, err := openFile(file, "ro")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var schema, server string
	if err := db.QueryRow(selectStamp).Scan(&schema, &server); err != nil {
		t.Fatal(err)
	}
	if schema != schemaFingerprint {
		t.Errorf("server %s creates schema %s: set schemaFingerprint, and tell users that older files do not fit", server, schema)
	}
}

func execSQL(t *testing.T, file string, statements ...string) {
	t.Helper()
	db, err := sql.Open("sqlite", file)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, stmt := range statements {
		if _, err := db.Exec(stmt); err != nil {
			t.Fatal(err)
		}
	}
}
