package assembly

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/windlass-dev/windlass/libs/probe"
	"github.com/windlass-dev/windlass/libs/sqldb"
)

// opened opens and closes the databases of all roles in a directory, as processes of their own would.
func opened(t *testing.T, dir string) error {
	t.Helper()
	var errs []error
	for _, role := range []string{Policy, Inference, Registry, Sessions} {
		p := &Process{
			ctx: t.Context(), log: slog.New(slog.DiscardHandler), databases: map[string]*sqldb.DB{}, ready: map[string]probe.Check{},
			cfg: Config{Database: DatabaseConfig{URL: "sqlite:" + dir}},
		}
		db, err := p.database(role)
		if err == nil {
			err = db.Close()
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// TestALostDatabaseIsNotMadeAnew loses one of the files of a data directory, and then the file that lists them.
func TestALostDatabaseIsNotMadeAnew(t *testing.T) {
	dir := t.TempDir()
	for range 2 {
		if err := opened(t, dir); err != nil {
			t.Fatal(err)
		}
	}
	file := filepath.Join(dir, "registry.db")
	kept, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"", "-wal", "-shm", ".lock"} {
		_ = os.Remove(file + name)
	}
	if err := opened(t, dir); !errors.Is(err, sqldb.ErrMissing) || !strings.Contains(err.Error(), file) {
		t.Errorf("without registry.db: %v, want its name", err)
	}
	if _, err := os.Stat(file); err == nil {
		t.Error("it was created again")
	}
	if err := os.WriteFile(file, kept, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := opened(t, dir); err != nil {
		t.Errorf("restored: %v", err)
	}
	if err := os.Remove(filepath.Join(dir, "identity")); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := opened(t, dir); err != nil { // the files know it
			t.Errorf("without the directory's list: %v", err)
		}
	}
	other := t.TempDir()
	if err := errors.Join(opened(t, other), os.Rename(filepath.Join(other, "policy.db"), filepath.Join(dir, "policy.db"))); err != nil {
		t.Fatal(err)
	}
	if err := opened(t, dir); !errors.Is(err, sqldb.ErrForeign) || !strings.Contains(err.Error(), filepath.Join(dir, "policy.db")) {
		t.Errorf("with a file of another directory: %v", err)
	}
}

// TestAVerifyingProcessNamesTheCommandThatItWaitsFor and changes no table.
func TestAVerifyingProcessNamesTheCommandThatItWaitsFor(t *testing.T) {
	cfg := Defaults()
	cfg.Database.URL, cfg.Database.Migrate = "sqlite:"+t.TempDir(), sqldb.MigrateVerify
	log := slog.New(slog.DiscardHandler)
	start := func() error {
		p := &Process{ctx: t.Context(), log: log, databases: map[string]*sqldb.DB{}, ready: map[string]probe.Check{}, cfg: cfg}
		_, err := p.database(Policy)
		return errors.Join(err, p.databases[Policy].Close())
	}
	if err := start(); !errors.Is(err, sqldb.ErrUnmigrated) || !strings.Contains(err.Error(), `run "windlassd migrate"`) {
		t.Errorf("before: %v, want ErrUnmigrated", err)
	}
	for range 2 {
		done, err := Migrate(t.Context(), cfg, Stored(), log)
		if err != nil || len(done) != 5 || done[0].Schema != Policy || done[0].To == 0 {
			t.Fatalf("Migrate = %+v, %v", done, err)
		}
	}
	if err := start(); err != nil {
		t.Errorf("after: %v", err)
	}
}
