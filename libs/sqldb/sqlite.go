package sqldb

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"modernc.org/sqlite"

	"github.com/windlass-dev/windlass/libs/refclock"
)

// sqliteReaders is the default number of reading connections.
const sqliteReaders = 4

// openSQLite opens one connection for writing and a pool for reading. One writer with a queue is fairer than many that poll SQLite's lock;
// readers never wait for it, because of the write-ahead log.
func openSQLite(ctx context.Context, cfg Config) (_ *DB, err error) {
	path, err := filepath.Abs(strings.TrimPrefix(strings.TrimPrefix(cfg.URL, "sqlite:"), "//"))
	if err != nil {
		return nil, fmt.Errorf("open database: %w", err)
	}
	if err := cfg.Origin.checkFile(path); err != nil {
		return nil, fmt.Errorf("open database: %w", err)
	}
	if err := createFile(path); err != nil {
		return nil, fmt.Errorf("open database %s: %w", path, translate(err))
	}
	// Not the database file itself: closing any descriptor of it would release the locks that SQLite holds in this process.
	unlock, err := lockFile(path + ".lock")
	if err != nil {
		return nil, fmt.Errorf("open database %s: %w", path, translate(err))
	}
	db := &DB{
		dialect: SQLite, schema: cfg.Schema, log: cfg.Log, cfg: cfg, clock: refclock.New(cfg.HostTime),
		path: path, queue: &writerQueue{}, changes: &changes{},
	}
	db.flusher = newFlusher(path+"-wal", cfg.Flush)
	db.close = func() error { return errors.Join(db.closeSQLite(), unlock()) }
	defer func() {
		if err != nil {
			_ = db.Close() // the first error is the one to report
		}
	}()
	readers := cfg.MaxConns
	if readers <= 0 {
		readers = sqliteReaders
	}
	// Checkpoint after 4,000 pages of 4 KiB: a page that many transactions change is then written to the file once.
	params := []string{
		"_txlock", "immediate", "_pragma", "journal_mode(WAL)", "_pragma", "synchronous(NORMAL)", "_pragma", "wal_autocheckpoint(4000)",
	}
	if cfg.SecureDelete {
		params = append(params, "_pragma", "secure_delete(1)")
	}
	if db.write, err = sqlitePool(path, 1, params...); err != nil {
		return nil, fmt.Errorf("open database %s: %w", path, translate(err))
	}
	// Open for writing first: it makes the file a WAL database, and fails if the file is not writable.
	if err = probe(ctx, db.write); err != nil {
		return nil, fmt.Errorf("open database %s: %w", path, translate(err))
	}
	if err = db.cfg.Origin.identify(ctx, db); err != nil {
		return nil, fmt.Errorf("open database: %w", translate(err))
	}
	if db.read, err = sqlitePool(path, readers, "_pragma", "query_only(1)"); err != nil {
		return nil, fmt.Errorf("open database %s: %w", path, translate(err))
	}
	if err = db.read.PingContext(ctx); err != nil {
		return nil, fmt.Errorf("open database %s: %w", path, translate(err))
	}
	db.writer, db.reader = newPrepared(db.write), newPrepared(db.read)
	return db, nil
}

// sqlitePool opens a pool whose connections never idle out, since a new one has to run all the pragmas. Each connection caches 4 MB of
// pages for itself. With 16 MB a process with several files takes tens of megabytes more; misses, read from the kernel's cache, cost below
// 1 % of its processor time.
func sqlitePool(path string, conns int, params ...string) (*sql.DB, error) {
	q := url.Values{"_pragma": {
		"busy_timeout(10000)", "foreign_keys(1)", "cache_size(-4000)", "temp_store(MEMORY)", "mmap_size(0)",
	}}
	for i := 0; i < len(params); i += 2 {
		q.Add(params[i], params[i+1]) //nolint:gosec // params come in pairs
	}
	dsn := (&url.URL{Scheme: "file", OmitHost: true, Path: path, RawQuery: q.Encode()}).String()
	connector, err := sqlite.NewConnector(dsn)
	if err != nil {
		return nil, err
	}
	pool := sql.OpenDB(connector)
	pool.SetMaxOpenConns(conns)
	pool.SetMaxIdleConns(conns)
	return pool, nil
}

// Checkpoint moves what the write-ahead log of a SQLite file has to the file, and empties the log, so that rows deleted with
// Config.SecureDelete are in neither. It waits for reads that are under way; ErrConflict if they take longer than ten seconds. On
// PostgreSQL it does nothing: deleted rows stay in the files until they are vacuumed, and in the server's log until it is recycled.
func (db *DB) Checkpoint(ctx context.Context) error {
	if db.dialect != SQLite {
		return nil
	}
	refuseNested("Checkpoint")
	if _, err := db.queue.enter(ctx, false); err != nil {
		return err
	}
	defer db.queue.leave()
	busy, err := One(ctx, db.write, func(s Scanner) (busy bool, err error) {
		var pages, moved int
		err = s.Scan(&busy, &pages, &moved)
		return busy, err
	}, "PRAGMA wal_checkpoint(TRUNCATE)")
	if err == nil && busy {
		err = ErrConflict
	}
	return err
}

// probe runs a write transaction that changes nothing but takes the write lock.
func probe(ctx context.Context, write *sql.DB) error {
	tx, err := write.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, "PRAGMA user_version = 0"); err != nil {
		_ = tx.Rollback() // the first error is the one to report
		return err
	}
	return tx.Commit()
}

// createFile creates folder and file with access for the owner only, since they hold sessions and sealed credentials.
func createFile(path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	return f.Close()
}

// closeSQLite closes the readers first, so that the writer is last and checkpoints the log.
func (db *DB) closeSQLite() error {
	var errs []error
	for _, pool := range []*sql.DB{db.read, db.write} {
		if pool != nil {
			errs = append(errs, pool.Close())
		}
	}
	return errors.Join(errs...)
}
