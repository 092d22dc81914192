// Package store keeps agents, sessions, messages, turns, steps and the journal in a database. Its one SQL text runs on SQLite and
// PostgreSQL; storetest holds both to the same behaviour.
//
// A transaction that touches a session takes the session's lock first (Tx.LockSession, Tx.LockTurn), so that changes of one session happen one
// after the other and its sequence numbers have no gap. No method locks a second session.
package store

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/sqldb"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
)

//go:embed migrations/*.sql
var migrations embed.FS

var (
	// ErrNotFound means that no row fits.
	ErrNotFound = sqldb.ErrNotFound
	// ErrExists means that a row with the same key exists. The transaction cannot go on after it.
	ErrExists = errors.New("exists already")
)

// unique turns a violation of uniqueness into ErrExists.
func unique(err error) error {
	if sqldb.IsUnique(err) {
		return fmt.Errorf("%w: %w", ErrExists, err)
	}
	return err
}

// Store is the sessions service's part of a database. It is safe for concurrent use. Every method may fail with
// a fault of code UNAVAILABLE when the database is away, full or cannot be written.
type Store struct{ db *sqldb.DB }

// Open brings the tables up to date and returns the store. The database stays its owner's to close.
func Open(ctx context.Context, db *sqldb.DB) (*Store, error) {
	if db == nil {
		return nil, errors.New("sessions store needs a database")
	}
	if err := db.Migrate(ctx, migrations, "migrations"); err != nil {
		return nil, fmt.Errorf("open sessions store: %w", err)
	}
	return &Store{db: db}, nil
}

// Tx is a writing transaction. It belongs to one goroutine and ends with the function it was given to.
type Tx struct {
	sqldb.Tx
	db *sqldb.DB
}

// Write runs f in one transaction: all of it stands, or nothing after an error. Under PostgreSQL f may run again after a
// conflict, so it must set all its results.
func (s *Store) Write(ctx context.Context, f func(*Tx) error) error {
	return meaning(s.db.Write(ctx, func(tx sqldb.Tx) error { return f(&Tx{Tx: tx, db: s.db}) }))
}

// meaning turns the database's troubles that a caller can wait for into faults. Others pass.
func meaning(err error) error {
	switch {
	case err == nil, fault.As(err) != nil:
		return err
	case errors.Is(err, sqldb.ErrUnavailable), errors.Is(err, sqldb.ErrConflict):
		return fault.Unavailable(faultv1.Reason_REASON_UNAVAILABLE, "the sessions database is not available").
			RetryAfter(time.Second).Cause(err)
	case errors.Is(err, sqldb.ErrDiskFull), errors.Is(err, sqldb.ErrReadOnly):
		return fault.Unavailable(faultv1.Reason_REASON_UNAVAILABLE, "the sessions database cannot be written").
			Hint("An operator must look at the disk and the permissions of the database.").Cause(err)
	}
	return err
}

// Now is the database's time, in microseconds as columns hold it.
func (s *Store) Now() time.Time { return sqldb.Time(s.NowUs()) }

// NowUs is the database's time in Unix microseconds: all that is stored and judged by time uses it.
func (s *Store) NowUs() int64 { return sqldb.Micros(s.db.Now()) }

// NowUs is the database's time in Unix microseconds.
func (tx *Tx) NowUs() int64 { return sqldb.Micros(tx.db.Now()) }

// one reads one row outside a transaction.
func one[T any](ctx context.Context, q sqldb.Querier, scan func(sqldb.Scanner) (T, error), query string, args ...any) (T, error) {
	v, err := sqldb.One(ctx, q, scan, query, args...)
	return v, meaning(err)
}

// all reads rows outside a transaction.
func all[T any](ctx context.Context, q sqldb.Querier, scan func(sqldb.Scanner) (T, error), query string, args ...any) ([]T, error) {
	v, err := sqldb.All(ctx, q, scan, query, args...)
	return v, meaning(err)
}

// of gives columns as those of one of the tables of a statement.
func of(table, columns string) string {
	return table + "." + strings.Join(strings.Fields(strings.ReplaceAll(columns, ",", " ")), ", "+table+".")
}

// more scans a row that has more columns.
type more struct {
	sqldb.Scanner
	last []any
}

// Scan implements sqldb.Scanner.
func (m more) Scan(dest ...any) error { return m.Scanner.Scan(append(dest, m.last...)...) }

// selection is a statement that is put together from the conditions that are asked for.
type selection struct {
	text string
	args []any
}

func newSelection(text string, args ...any) *selection {
	out := &selection{}
	out.add(text, args...)
	return out
}

// add appends a text in which one question mark stands for all of the values, separated by commas.
func (s *selection) add(text string, values ...any) {
	s.text += strings.ReplaceAll(text, "?", sqldb.Placeholders(len(s.args)+1, len(values)))
	s.args = append(s.args, values...)
}

// flag is a boolean as both engines store it.
func flag(b bool) int64 {
	if b {
		return 1
	}
	return 0
}
