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
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/windlass-dev/windlass/libs/refclock"
)

// Log returns the logger of the database.
func (db *DB) Log() *slog.Logger { return db.log }

// Dialect names.
const (
	// SQLite is the embedded engine.
	SQLite = "sqlite"
	// Postgres is the production engine.
	Postgres = "postgres"
)

// Config describes the database to open.
type Config struct {
	// URL is "sqlite:/path/file.db" (a relative path works too) or "postgres://…". Required.
	URL string
	// Schema is the service's name: its schema on Postgres, created if absent, and the name of its migration table on SQLite. Lower-case
	// letters, digits and underscores. Required.
	Schema string
	// MaxConns is the size of the Postgres pool, or the number of SQLite readers. 0 means 16, or 4.
	MaxConns int
	// Origin is the data directory of a SQLite file; nil = the file stands for itself.
	Origin *Origin
	// Log receives migrations and retries. Nil means no logging.
	Log *slog.Logger
	// HostTime is the clock of this host. Nil means time.Now; tests use a wrong one.
	HostTime func() time.Time
	// Now replaces the database's clock in tests with fake time. Nil means the database's own, see DB.Now.
	Now func() time.Time
	// FlushOn says which commits are on disk before their callers continue: FlushPromises, FlushCommits or FlushCalls. "" means
	// FlushPromises. PostgreSQL flushes each commit with all of them.
	FlushOn string
	// SecureDelete has SQLite overwrite deleted rows with zeros; see also Checkpoint. PostgreSQL does that when it vacuums.
	SecureDelete bool
	// Migrations says who changes the schema: MigrateAuto or MigrateVerify. "" means MigrateAuto.
	Migrations string
	// MigrationWait is how long MigrateVerify waits for the process that does, on PostgreSQL. 0: not at all.
	MigrationWait time.Duration
	// StatementTimeout and LockTimeout end a statement with ErrTimeout that runs, or waits for a lock, for longer. Migrations may run for any
	// time. PostgreSQL only; 0 means the server's settings. A whole number of milliseconds.
	StatementTimeout, LockTimeout time.Duration
	// Flush syncs a file to disk, on SQLite. Nil means (*os.File).Sync; tests observe it.
	Flush func(*os.File) error
}

// DB is one service's view of an open database. It is safe for concurrent use.
type DB struct {
	dialect string
	schema  string
	log     *slog.Logger
	cfg     Config
	write   *sql.DB
	read    *sql.DB
	clock   *refclock.Clock
	direct  *pgx.ConnConfig // Postgres only: of connections beside the pool
	origin  string          // SQLite only: the identity of the file's data directory
	path    string          // SQLite only: of the file
	flusher *flusher        // SQLite only
	queue   *writerQueue    // SQLite only
	writer  *prepared       // SQLite only: the statements of write and read
	reader  *prepared
	changes *changes // SQLite only
	// migrated is what Migrate did; nil before.
	migrated atomic.Pointer[Migrated]
	full     atomic.Bool // Postgres only: the last write found the disk full
	closing  sync.Once
	close    func() error
}

// schemaName matches names that need no quoting.
var schemaName = regexp.MustCompile(`^[a-z][a-z0-9_]{0,40}$`)

// Open connects and checks that the database answers. It creates a SQLite file and its folder if they are absent; the file belongs to this
// DB until Close, and a second Open of it, from this or another process, is ErrInUse (use View to share it). Other expected errors are
// ErrReadOnly, ErrDiskFull and ErrUnavailable.
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
	switch cfg.FlushOn {
	case "":
		cfg.FlushOn = FlushPromises
	case FlushPromises, FlushCommits, FlushCalls:
	default:
		return nil, fmt.Errorf("open database: flush on %q: want %s, %s or %s", cfg.FlushOn, FlushPromises, FlushCommits, FlushCalls)
	}
	switch cfg.Migrations {
	case "", MigrateAuto, MigrateVerify:
	default:
		return nil, fmt.Errorf("open database: migrations %q: want %s or %s", cfg.Migrations, MigrateAuto, MigrateVerify)
	}
	if cfg.StatementTimeout < 0 || cfg.LockTimeout < 0 {
		return nil, errors.New("open database: timeouts of statements and locks: want 0 or more")
	}
	switch {
	case strings.HasPrefix(cfg.URL, "sqlite:"):
		return openSQLite(ctx, cfg)
	case strings.HasPrefix(cfg.URL, "postgres://"), strings.HasPrefix(cfg.URL, "postgresql://"):
		return openPostgres(ctx, cfg)
	case cfg.URL == "":
		return nil, errors.New("open database: no URL given: want sqlite:/path/file.db or postgres://…")
	default: // the URL may contain a password, so only its scheme is shown
		scheme, _, _ := strings.Cut(cfg.URL, ":")
		return nil, fmt.Errorf("open database: unknown scheme %q: want sqlite:/path/file.db or postgres://…", scheme)
	}
}

// View returns another service's view of the same database. On SQLite it shares file and connections, and its Close does nothing: the
// original DB must outlive it. On Postgres it has its own pool, which Close closes.
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
		clock: db.clock, path: db.path, flusher: db.flusher, queue: db.queue, writer: db.writer, reader: db.reader, changes: db.changes,
		close: func() error { return nil },
	}, nil
}

// Close closes all connections and, for SQLite, releases the file. It is safe to call more than once.
func (db *DB) Close() error {
	var err error
	db.closing.Do(func() { err = db.close() })
	return err
}

// Dialect returns SQLite or Postgres.
func (db *DB) Dialect() string { return db.dialect }

// Schema returns the service's name passed to Open or View.
func (db *DB) Schema() string { return db.schema }

// ForUpdate is the suffix of a SELECT whose rows are locked until the transaction ends. It is empty on SQLite, where a writing transaction
// locks the whole database.
func (db *DB) ForUpdate() string {
	if db.dialect == Postgres {
		return " FOR UPDATE"
	}
	return ""
}

// SkipLocked is the suffix of a SELECT that claims rows which no other transaction has locked. It is empty on SQLite.
func (db *DB) SkipLocked() string {
	if db.dialect == Postgres {
		return " FOR UPDATE SKIP LOCKED"
	}
	return ""
}

// Micros converts a time to the Unix microseconds stored in columns. The zero time is 0.
func Micros(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMicro()
}

// Time converts Unix microseconds to a time in UTC. 0 is the zero time.
func Time(us int64) time.Time {
	if us == 0 {
		return time.Time{}
	}
	return time.UnixMicro(us).UTC()
}

// TimeColumn is where a column of Unix microseconds goes: Scan sets at as Time does.
func TimeColumn(at *time.Time) sql.Scanner { return (*timeColumn)(at) }

type timeColumn time.Time

// Scan implements sql.Scanner.
func (c *timeColumn) Scan(src any) error {
	us, ok := src.(int64)
	if !ok {
		return fmt.Errorf("a time is stored as %T, want microseconds", src)
	}
	*c = timeColumn(Time(us))
	return nil
}
