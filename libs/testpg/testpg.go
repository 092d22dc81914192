// Package testpg gives tests a real PostgreSQL: the server at WINDLASS_TEST_POSTGRES_URL, or one started from installed programs. One
// server serves all tests of a process; every test gets its own database.
package testpg

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	_ "github.com/windlass-dev/windlass/libs/sqldb" // registers the database/sql driver "pgx"
)

const (
	// EnvURL names the variable with a server's URL, whose role may create databases.
	EnvURL = "WINDLASS_TEST_POSTGRES_URL"
	// EnvRequire names the variable that, set to 1, turns a missing server into a failure.
	EnvRequire = "WINDLASS_REQUIRE_POSTGRES"
)

// errAbsent means that there is no server and no program to start one.
var errAbsent = errors.New("no PostgreSQL: set " + EnvURL + " or install the server's programs (initdb, postgres)")

// shared is the process's server. Tests of a package share a process and have no common parent to own it.
var shared struct {
	sync.Mutex
	tried  bool
	url    string
	server *server
	err    error
	// templates are the databases to drop at the end if the server was not started by this process.
	templates []string
	// roles are dropped after them.
	roles []string
}

// URL returns the URL of a new, empty database, which is dropped when the test ends. Without a server the test is skipped, or fails if
// WINDLASS_REQUIRE_POSTGRES=1.
func URL(t testing.TB) string {
	t.Helper()
	return database(t, running(t), "")
}

// running returns the URL of the shared server.
func running(t testing.TB) string {
	t.Helper()
	base, err := serverURL()
	if errors.Is(err, errAbsent) && os.Getenv(EnvRequire) != "1" {
		t.Skip(err)
	}
	if err != nil {
		t.Fatalf("start PostgreSQL: %v", err)
	}
	return base
}

// database creates a database for this test only, with options appended to the statement.
func database(t testing.TB, base, options string) string {
	t.Helper()
	name := newName()
	if err := admin(base, "CREATE DATABASE "+name+options); err != nil {
		t.Fatalf("create database: %v", err)
	}
	t.Cleanup(func() {
		if err := admin(base, "DROP DATABASE IF EXISTS "+name+" WITH (FORCE)"); err != nil {
			t.Errorf("drop database: %v", err)
		}
	})
	u, err := named(base, name)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func newName() string { return "wl_" + strings.ToLower(rand.Text()[:16]) }

// Main runs a package's tests and then stops the server; use it in TestMain, or as the argument of testmain.Verify. Without it the
// server ends when the test process dies.
type Main struct {
	// M is the test run.
	M *testing.M
}

// Run runs the tests, stops the server and returns the tests' exit code.
func (m Main) Run() int {
	code := m.M.Run()
	Stop()
	return code
}

// Stop ends the server if this process started it, and removes its files. From another server it drops the templates.
func Stop() {
	shared.Lock()
	defer shared.Unlock()
	if shared.server != nil {
		shared.server.stop()
		shared.server, shared.tried = nil, false
		return
	}
	for _, name := range shared.templates {
		_ = admin(shared.url, "DROP DATABASE IF EXISTS "+name+" WITH (FORCE)") // the tests are over: an error has no effect
	}
	for _, role := range shared.roles {
		_ = admin(shared.url, "DROP ROLE IF EXISTS "+role) // the same
	}
	shared.templates, shared.roles = nil, nil
}

func serverURL() (string, error) {
	shared.Lock()
	defer shared.Unlock()
	if shared.tried {
		return shared.url, shared.err
	}
	shared.tried = true
	if shared.url = os.Getenv(EnvURL); shared.url != "" {
		return shared.url, nil
	}
	if shared.server, shared.err = start(false, nil, ""); shared.err == nil {
		shared.url = shared.server.url
	}
	return shared.url, shared.err
}

// admin runs one statement on the server's maintenance database.
func admin(base, statement string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	db, err := sql.Open("pgx", base)
	if err != nil {
		return err
	}
	_, err = db.ExecContext(ctx, statement)
	if err := errors.Join(err, db.Close()); err != nil {
		return fmt.Errorf("%s: %w", statement, err)
	}
	return nil
}
