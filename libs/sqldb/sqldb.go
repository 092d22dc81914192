// Package sqldb runs one SQL text on SQLite (embedded) and PostgreSQL (production).
//
// Rules for the text: $1 placeholders, times as BIGINT unix microseconds, JSON passed as string, no dialect-only operators,
// NULLS FIRST or LAST written out, additive migrations. All services that share one SQLite file share its table names too, so names
// must not collide; under Postgres every service has its own schema.
package sqldb

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/windlass-dev/windlass/libs/refclock"
)

// Dialect names.
const (
	// SQLite is the embedded engine.
	SQLite = "sqlite"
	// Postgres is the production engine.
	Postgres = "postgres"
)

// Config says which database to open.
type Config struct {
	// URL is "sqlite:/path/file.db" (a relative path works too) or "postgres://…". Required.
	URL string
	// Schema is the service's name: its schema under Postgres, created if absent, and its migration table's name in SQLite.
	// Lower-case letters, digits and underscores. Required.
	Schema string
	// MaxConns bounds the Postgres pool, or the SQLite readers. 0 means 16, or 4.
	MaxConns int
	// Log receives migrations and retries. Nil means no logging.
	Log *slog.Logger
	// HostTime is the clock of this host. Nil means time.Now; tests set it wrong.
	HostTime func() time.Time
	// Now replaces the database's clock, for tests whose time is not real. Nil means the database's own, see DB.Now.
	Now func() time.Time
	// Flush has the operating system write a file to its disk, for WriteDurable on SQLite. Nil means (*os.File).Sync; tests look on.
	Flush func(*os.File) error
}

// DB is an open database, seen as one service's schema. It is safe for concurrent use.
type DB struct {
	dialect string
	schema  string
	log     *slog.Logger
	cfg     Config
	write   *sql.DB
	read    *sql.DB
	clock   *refclock.Clock
	flusher *flusher      // SQLite only
	queue   chan struct{} // SQLite only: whoever is in it may write; senders wait in order of arrival
	writer  *prepared     // SQLite only: the statements of write and read
	reader  *prepared
	closing sync.Once
	close   func() error
}

// schemaName keeps names out of need of quoting.
var schemaName = regexp.MustCompile(`^[a-z][a-z0-9_]{0,40}$`)

// Open connects and checks that the database answers. The file of a SQLite database is created if absent, with its folder,
// and belongs to this DB until Close: a second Open of it, from here or another process, is ErrInUse (use View to share it).
// Other errors to expect are ErrReadOnly, ErrDiskFull and ErrUnavailable.
func Open(ctx context.Context, cfg Config) (*DB, error) {
	if !schemaName.MatchString(cfg.Schema) {
		return nil, fmt.Errorf("open database: schema %q: want lower-case letters, digits and underscores", cfg.Schema)
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if cfg.Flush == nil {
		cfg.Flush = (*os.File).Sync
	}
	switch {
	case strings.HasPrefix(cfg.URL, "sqlite:"):
		return openSQLite(ctx, cfg)
	case strings.HasPrefix(cfg.URL, "postgres://"), strings.HasPrefix(cfg.URL, "postgresql://"):
		return openPostgres(ctx, cfg)
	case cfg.URL == "":
		return nil, errors.New("open database: no URL given: want sqlite:/path/file.db or postgres://…")
	default: // the URL may hold a password, so only its scheme is shown
		scheme, _, _ := strings.Cut(cfg.URL, ":")
		return nil, fmt.Errorf("open database: unknown scheme %q: want sqlite:/path/file.db or postgres://…", scheme)
	}
}

// View returns the same database seen as another service's schema. Under SQLite it shares file and connections, and its
// Close does nothing: the DB that was opened must outlive it. Under Postgres it has its own pool, which Close ends.
func (db *DB) View(ctx context.Context, schema string) (*DB, error) {
	cfg := db.cfg
	cfg.Schema = schema
	if db.dialect == Postgres {
		return Open(ctx, cfg)
	}
	if !schemaName.MatchString(schema) {
		return nil, fmt.Errorf("view database: schema %q: want lower-case letters, digits and underscores", schema)
	}
	return &DB{
		dialect: db.dialect, schema: schema, log: db.log, cfg: cfg, write: db.write, read: db.read,
		clock: db.clock, flusher: db.flusher, queue: db.queue, writer: db.writer, reader: db.reader, close: func() error { return nil },
	}, nil
}

// Close ends all connections and, for SQLite, gives the file free. It is safe to call more than once.
func (db *DB) Close() error {
	var err error
	db.closing.Do(func() { err = db.close() })
	return err
}

// Dialect returns SQLite or Postgres.
func (db *DB) Dialect() string { return db.dialect }

// Schema returns the service's name given at Open or View.
func (db *DB) Schema() string { return db.schema }

// ForUpdate is the suffix of a SELECT whose rows are to be locked until the transaction ends: empty under SQLite, where a
// writing transaction has the whole database.
func (db *DB) ForUpdate() string {
	if db.dialect == Postgres {
		return " FOR UPDATE"
	}
	return ""
}

// SkipLocked is the suffix of a SELECT that claims rows nobody else works on: empty under SQLite.
func (db *DB) SkipLocked() string {
	if db.dialect == Postgres {
		return " FOR UPDATE SKIP LOCKED"
	}
	return ""
}

// Ping asks the database for a sign of life. The error is ErrUnavailable if there is none.
func (db *DB) Ping(ctx context.Context) error {
	return translate(db.read.PingContext(ctx))
}

// Micros gives a time as the unix microseconds that columns hold. The zero time is 0.
func Micros(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMicro()
}

// Time turns unix microseconds back into a time in UTC. 0 is the zero time.
func Time(us int64) time.Time {
	if us == 0 {
		return time.Time{}
	}
	return time.UnixMicro(us).UTC()
}
