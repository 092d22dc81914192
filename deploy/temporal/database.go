package main

import (
	"context"
	"database/sql"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"go.temporal.io/server/common/config"
	sqliteplugin "go.temporal.io/server/common/persistence/sql/sqlplugin/sqlite"
)

// database is the SQLite file owned by this process, or an in-memory database.
type database struct {
	sql  *config.SQL
	path string
	lock *os.File
}

// openDatabase locks the file for this process and checks that this server can use it. A missing file is created; an empty path means in
// memory.
func openDatabase(ctx context.Context, path string) (*database, error) {
	if path == "" {
		return &database{sql: &config.SQL{
			PluginName:        sqliteplugin.PluginName,
			DatabaseName:      "windlass",
			ConnectAttributes: map[string]string{"mode": "memory", "cache": "shared"},
		}}, nil
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("--db-filename: %w", err)
	}
	lock, err := lockDatabase(path)
	if err != nil {
		return nil, err
	}
	db := &database{path: path, lock: lock, sql: fileConfig(path)}
	if err := prepareFile(ctx, path); err != nil {
		db.close()
		return nil, err
	}
	return db, nil
}

// prepareFile creates the file or checks the existing one.
func prepareFile(ctx context.Context, path string) error {
	info, err := os.Stat(path)
	switch {
	case os.IsNotExist(err), err == nil && info.Size() == 0:
		return createFile(ctx, path)
	case err != nil:
		return notWritable(path, err)
	case info.IsDir():
		return fmt.Errorf("%s is a directory: choose a file with --db-filename", path)
	default:
		return checkFile(ctx, path)
	}
}

func fileConfig(path string) *config.SQL {
	return &config.SQL{
		PluginName:   sqliteplugin.PluginName,
		DatabaseName: uriPath(path),
		ConnectAttributes: map[string]string{
			"mode": "rw",
			// With a write-ahead log, "normal" survives a kill -9; only a power failure may lose the last commits. Each commit costs a fraction of
			// the default's.
			"journal_mode": "wal",
			"synchronous":  "normal",
		},
	}
}

// dsn returns the name by which Temporal's plugin opens the database.
func dsn(cfg *config.SQL) string {
	query := url.Values{"_time_format": {"sqlite"}}
	for key, value := range cfg.ConnectAttributes {
		switch key {
		case "mode", "cache":
			query.Set(key, value)
		default:
			query.Add("_pragma", key+"="+value)
		}
	}
	return "file:" + cfg.DatabaseName + "?" + query.Encode()
}

// uriPath escapes characters that are special in the URI that Temporal's SQLite plugin builds around the name.
func uriPath(path string) string {
	path = filepath.ToSlash(path)
	if !strings.HasPrefix(path, "/") {
		path = "/" + path
	}
	return (&url.URL{Path: path}).EscapedPath()
}

// openFile opens a connection of our own, outside the server's pool.
func openFile(path, mode string) (*sql.DB, error) {
	db, err := sql.Open("sqlite", "file:"+uriPath(path)+"?mode="+mode)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	db.SetMaxOpenConns(1)
	return db, nil
}

// close releases the file. The server never closes its connections, so close checkpoints the write-ahead log: after a clean stop one file
// holds everything.
func (d *database) close() {
	if d.path == "" {
		return
	}
	if db, err := openFile(d.path, "rw"); err == nil {
		_, _ = db.ExecContext(context.Background(), "PRAGMA wal_checkpoint(TRUNCATE)") // a log that remains is read at the next start
		_ = db.Close()
	}
	_ = d.lock.Close()
}
