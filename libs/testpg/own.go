package testpg

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// Server is the PostgreSQL server of one test, which the test may stop, restart and freeze. Committed data survives that.
type Server struct {
	t      testing.TB
	server *server
	// name of the database.
	name string
}

// Own starts a server that ends with the test. Without the server's programs the test is skipped, or fails if WINDLASS_REQUIRE_POSTGRES=1.
func Own(t testing.TB) *Server {
	t.Helper()
	return own(t, nil, "")
}

// OwnOn is Own for a server whose tables are in a folder in another namespace: the command within enters it, the server sees the folder as
// dir, and this process as outside. Its write-ahead log is elsewhere: a server without room for that exits.
func OwnOn(t testing.TB, within []string, dir, outside string) *Server {
	t.Helper()
	s := own(t, within, "")
	if err := s.server.give(outside); err != nil {
		t.Fatal(err)
	}
	for _, statement := range []string{"CREATE TABLESPACE small LOCATION '" + dir + "'", "CREATE DATABASE small TABLESPACE small"} {
		if err := admin(s.server.url, statement); err != nil {
			t.Fatal(err)
		}
	}
	s.name = "small"
	return s
}

// OwnWithin is Own for a server with all its files in a folder in another namespace, see OwnOn, and which flushes them as in production. A
// cluster that is in the folder is started as a machine finds it whose power was cut.
func OwnWithin(t testing.TB, within []string, dir, outside string) *Server {
	t.Helper()
	err := os.Remove(filepath.Join(outside, "data", "postmaster.pid")) // of a process that ended with its machine
	if errors.Is(err, fs.ErrNotExist) {
		err = fill(outside)
	}
	if err != nil {
		t.Fatalf("prepare the cluster: %v", err)
	}
	return own(t, within, filepath.Join(dir, "data"))
}

func own(t testing.TB, within []string, data string) *Server {
	t.Helper()
	s, err := start(true, within, data)
	if errors.Is(err, errAbsent) && os.Getenv(EnvRequire) != "1" {
		t.Skip(err)
	}
	if err != nil {
		t.Fatalf("start PostgreSQL: %v", err)
	}
	t.Cleanup(func() {
		_ = s.signal(syscall.SIGCONT) // it cannot end while it is frozen
		s.stop()
	})
	return &Server{t: t, server: s, name: "postgres"}
}

// Replica starts a server with a copy of this one's data, which follows its changes and refuses those of clients until Promote. It ends
// with the test.
func (s *Server) Replica() *Server {
	s.t.Helper()
	r, err := s.server.replica()
	if err != nil {
		s.t.Fatalf("start a replica of PostgreSQL: %v", err)
	}
	s.t.Cleanup(r.stop)
	return &Server{t: s.t, server: r, name: s.name}
}

// Promote makes a replica a server like any other, and returns when it is one.
func (s *Server) Promote() {
	s.t.Helper()
	if err := admin(s.server.url, "SELECT pg_promote()"); err != nil {
		s.t.Fatal(err)
	}
}

// URL returns the URL of an empty database; it stays the same over restarts.
func (s *Server) URL() string { return strings.Replace(s.server.url, "/postgres?", "/"+s.name+"?", 1) }

// Stop kills the server with all open transactions, and waits until it is gone.
func (s *Server) Stop() { s.server.kill() }

// Start starts it again and waits until it answers.
func (s *Server) Start() {
	s.t.Helper()
	if err := s.server.launch(); err != nil {
		s.t.Fatalf("start PostgreSQL again: %v", err)
	}
}

// Freeze suspends all processes of the server: connections stay open, and nothing answers.
func (s *Server) Freeze() { s.t.Helper(); s.signal(syscall.SIGSTOP) }

// Thaw resumes them.
func (s *Server) Thaw() { s.t.Helper(); s.signal(syscall.SIGCONT) }

func (s *Server) signal(sig syscall.Signal) {
	s.t.Helper()
	if err := s.server.signal(sig); err != nil {
		s.t.Fatalf("signal PostgreSQL: %v", err)
	}
}
