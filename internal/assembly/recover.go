package assembly

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/windlass-dev/windlass/libs/sqldb"
	"github.com/windlass-dev/windlass/services/registry"
	"github.com/windlass-dev/windlass/services/sessions"
)

// Recovered is what Recover did.
type Recovered struct {
	sessions.Recovered
	// Calls are tool calls whose outcome is unknown.
	Calls []registry.RecoveredCall `json:"calls"`
}

// Recover prepares the databases of a configuration, which were restored from a backup, for the start of the mesh: what was in progress
// gets an unknown outcome instead of being repeated. The ledger of tool calls is first: a turn that fails has no open call then. No process
// of the mesh may run; with SQLite that is checked.
func Recover(ctx context.Context, cfg Config, log *slog.Logger) (done Recovered, err error) {
	if err := recoverRole(ctx, cfg, Registry, log, func(db *sqldb.DB) (err error) {
		done.Calls, err = registry.Recover(ctx, db)
		return err
	}); err != nil {
		return done, err
	}
	err = recoverRole(ctx, cfg, Sessions, log, func(db *sqldb.DB) (err error) {
		done.Recovered, err = sessions.Recover(ctx, cfg.Sessions, db, log)
		return err
	})
	return done, err
}

func recoverRole(ctx context.Context, cfg Config, role string, log *slog.Logger, do func(*sqldb.DB) error) (err error) {
	db, err := openDatabase(ctx, cfg.Database.open(role, log))
	if err != nil {
		return fmt.Errorf("database: %w", err)
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	return do(db)
}
