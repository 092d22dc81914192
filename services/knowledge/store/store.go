// Package store keeps banks, their documents and what searches find of these in a database. Its one SQL text runs on SQLite and PostgreSQL;
// storetest holds both to the same behaviour.
//
// A transaction that changes documents of a bank locks the bank first (lockBank), so that the bank's numbers and the frequencies of its
// words are exact.
package store

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"time"

	"github.com/windlass-dev/windlass/libs/sqldb"
)

var (
	// ErrNotFound means that the tenant has no such row.
	ErrNotFound = sqldb.ErrNotFound
	// ErrExists means that the id is taken.
	ErrExists = errors.New("exists already")
	// ErrTooMany means that the tenant has as many as it may have.
	ErrTooMany = errors.New("too many")
	// ErrHidden means that the caller may not read what it would change.
	ErrHidden = errors.New("hidden from the caller")
)

//go:embed migrations/*.sql
var migrations embed.FS

// Store is the knowledge service's database. It is safe for concurrent use. Every method may fail with a fault of code UNAVAILABLE when the
// database is away, full or cannot be written.
type Store struct {
	base
	bankRows
	documentRows
	factRows
	ingestionRows
	searchRows
	vectorRows
	sourceRows
}

// base is what the parts of the store share, one part for each group of tables.
type base struct{ db *sqldb.DB }

// Open brings the tables up to date and returns the store. The database stays its owner's to close.
func Open(ctx context.Context, db *sqldb.DB) (*Store, error) {
	if db == nil {
		return nil, errors.New("knowledge store needs a database")
	}
	if err := db.Migrate(ctx, migrations, "migrations"); err != nil {
		return nil, fmt.Errorf("open knowledge store: %w", err)
	}
	b := base{db}
	return &Store{
		base: b, bankRows: bankRows{b}, documentRows: documentRows{b}, ingestionRows: ingestionRows{b}, searchRows: searchRows{b},
		factRows: factRows{b}, vectorRows: vectorRows{b}, sourceRows: sourceRows{b},
	}, nil
}

// Now is the database's time, in whole microseconds as columns have them.
func (b base) Now() time.Time { return sqldb.Time(sqldb.Micros(b.db.Now())) }

// Purge overwrites what was deleted before also in the log of a SQLite database. It may be called at any time.
func (b base) Purge(ctx context.Context) error { return b.db.Checkpoint(ctx) }
