package assembly

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/windlass-dev/windlass/libs/dirid"
	"github.com/windlass-dev/windlass/libs/faultpoint"
	"github.com/windlass-dev/windlass/libs/sqldb"
)

// database opens the database of a role.
func (p *Process) database(role string) (*sqldb.DB, error) {
	cfg := p.cfg.Database.open(role, p.log)
	cfg.Now, cfg.SecureDelete = faultpoint.Clock(), role == Knowledge
	db, err := openDatabase(p.ctx, cfg)
	if err != nil {
		return nil, fmt.Errorf("database: %w", err)
	}
	p.databases[role] = db
	if cfg.Migrations == sqldb.MigrateVerify { // the building of the process ends with its context also while it waits
		if err := migrateRole(p.ctx, role, db); err != nil {
			return nil, err
		}
	}
	p.ready[role+" database"] = db.Check
	return db, nil
}

// openDatabase opens a database; a SQLite file must be the one that its data directory had before.
func openDatabase(ctx context.Context, cfg sqldb.Config) (_ *sqldb.DB, err error) {
	path, file := strings.CutPrefix(cfg.URL, "sqlite:")
	if !file {
		return sqldb.Open(ctx, cfg)
	}
	dir, err := dirid.Open(filepath.Dir(path))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, dir.Close()) }()
	name := filepath.Base(path)
	cfg.Origin = &sqldb.Origin{ID: dir.ID, Required: dir.Has(name)}
	db, err := sqldb.Open(ctx, cfg)
	if err != nil {
		return nil, err
	}
	if err := dir.Add(name, db.OriginID()); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return db, nil
}

// migrateRole brings the tables of a role up to date, or verifies that they are.
func migrateRole(ctx context.Context, role string, db *sqldb.DB) error {
	for _, c := range table() {
		if c.role == role && c.migrate != nil {
			return c.migrate(ctx, db)
		}
	}
	return nil
}
