package assembly

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"

	"github.com/windlass-dev/windlass/libs/sqldb"
)

// Stored returns the roles that have tables, in start order.
func Stored() []string {
	var out []string
	for _, c := range table() {
		if c.migrate != nil {
			out = append(out, c.role)
		}
	}
	return out
}

// Migrate brings the tables of roles up to date, whatever database.migrate says, and returns what it did. No role starts. Processes of this
// version and of the one before may run; with SQLite no process may have the files. After an error, what is returned is done.
func Migrate(ctx context.Context, cfg Config, roles []string, log *slog.Logger) ([]sqldb.Migrated, error) {
	cfg.Database.Migrate = sqldb.MigrateAuto
	var done []sqldb.Migrated
	for _, role := range Stored() {
		if !slices.Contains(roles, role) {
			continue
		}
		db, err := openDatabase(ctx, cfg.Database.open(role, log))
		if err != nil {
			return done, fmt.Errorf("database: %w", err)
		}
		err = migrateRole(ctx, role, db)
		if made := db.Migrated(); err == nil || len(made.Applied) > 0 {
			done = append(done, made)
		}
		if err := errors.Join(err, db.Close()); err != nil {
			return done, err
		}
	}
	return done, nil
}
