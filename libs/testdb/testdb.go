// Package testdb provides migrated test databases: migrations run once per process and engine, and every test gets a copy of the result.
package testdb

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/windlass-dev/windlass/libs/sqldb"
	"github.com/windlass-dev/windlass/libs/testpg"
)

// Tables are the tables of one service.
type Tables struct {
	schema   string
	migrate  func(context.Context, *sqldb.DB) error
	sqlite   func() ([]byte, error)
	postgres *testpg.Template
	// restricted has the rights of role.
	restricted *testpg.Template
	role       string
}

// New returns the tables that migrate creates in an empty database. A process needs one per service.
func New(schema string, migrate func(context.Context, *sqldb.DB) error) *Tables {
	m := &Tables{schema: schema, migrate: migrate, role: testpg.NewRole()}
	m.sqlite = sync.OnceValues(m.file)
	m.postgres = testpg.NewTemplate(m.fill)
	m.restricted = testpg.NewTemplate(m.fillRestricted)
	return m
}

// SQLite returns the URL of a database file for this test only.
func (m *Tables) SQLite(t testing.TB) string {
	t.Helper()
	return m.SQLiteIn(t, t.TempDir())
}

// SQLiteIn is SQLite for a file in the folder dir.
func (m *Tables) SQLiteIn(t testing.TB, dir string) string {
	t.Helper()
	content, err := m.sqlite()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, m.schema+".db")
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	return "sqlite:" + path
}

// Postgres returns the URL of a database for this test only; see testpg.URL.
func (m *Tables) Postgres(t testing.TB) string {
	t.Helper()
	return m.postgres.URL(t)
}

// Restricted is Postgres for a role that may read and change rows and nothing else, as in production; see sqldb.Grants.
func (m *Tables) Restricted(t testing.TB) string {
	t.Helper()
	return testpg.As(t, m.restricted.URL(t), m.role)
}

// file returns the content of a SQLite file with the tables.
func (m *Tables) file() (content []byte, err error) {
	dir, err := os.MkdirTemp("", "windlass-db-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	path := filepath.Join(dir, "template.db")
	if err := m.fill("sqlite:" + path); err != nil {
		return nil, err
	}
	return os.ReadFile(path) // closed: nothing of it is in the write-ahead log
}

func (m *Tables) fill(url string) error {
	ctx := context.Background() // not a test's context: later tests use the result
	db, err := sqldb.Open(ctx, sqldb.Config{URL: url, Schema: m.schema})
	if err != nil {
		return fmt.Errorf("template of %s: %w", m.schema, err)
	}
	if err := errors.Join(m.migrate(ctx, db), db.Close()); err != nil {
		return fmt.Errorf("template of %s: %w", m.schema, err)
	}
	return nil
}

func (m *Tables) fillRestricted(url string) error {
	if err := m.fill(url); err != nil {
		return err
	}
	grants, err := sqldb.Grants([]string{m.schema}, m.role)
	if err != nil {
		return err
	}
	return testpg.CreateRole(url, m.role, grants)
}
