package main

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"

	"go.temporal.io/server/common/headers"
	"go.temporal.io/server/common/persistence/sql/sqlplugin"
	"go.temporal.io/server/schema/sqlite"
)

// schemaFingerprint identifies the schema that the linked server creates. Temporal's SQLite schema has no migrations, so a file with
// another one cannot be used. A test computes it; a new server version may change it.
const schemaFingerprint = "e2306a299a268f92"

const (
	createStamp = `CREATE TABLE windlass_stamp (schema TEXT NOT NULL, server TEXT NOT NULL)`
	insertStamp = `INSERT INTO windlass_stamp (schema, server) VALUES (?, ?)`
	selectStamp = `SELECT schema, server FROM windlass_stamp`
	updateStamp = `UPDATE windlass_stamp SET server = ?`
)

// createFile sets up a new database under a temporary name and renames it, so that a crash never leaves half of one.
func createFile(ctx context.Context, path string) error {
	draft := path + ".new"
	if err := os.Remove(draft); err != nil && !os.IsNotExist(err) {
		return notWritable(path, err)
	}
	// SQLite would make it readable for all users; its other files inherit this mode.
	f, err := os.OpenFile(draft, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if err != nil {
		return notWritable(path, err)
	}
	_ = f.Close()
	db, err := openFile(draft, "rw")
	if err != nil {
		return err
	}
	err = errors.Join(setupSchema(ctx, db), db.Close())
	if err == nil {
		err = os.Rename(draft, path)
	}
	if err != nil {
		_ = os.Remove(draft)
		return notWritable(path, err)
	}
	return nil
}

func setupSchema(ctx context.Context, db *sql.DB) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback() //nolint:errcheck // after a commit there is nothing to undo
	if err := sqlite.SetupSchemaOnDB(schemaWriter{tx: tx}); err != nil {
		return err
	}
	fingerprint, err := fingerprintOf(ctx, tx)
	if err != nil {
		return err
	}
	if err := dropIndexes(ctx, tx); err != nil {
		return err
	}
	if err := sparseTriggers(ctx, tx); err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, createStamp); err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, insertStamp, fingerprint, headers.ServerVersion); err != nil {
		return err
	}
	return tx.Commit()
}

// schemaWriter is the part of Temporal's admin interface that setting up a schema uses. The plugin would leave a connection to the draft
// open.
type schemaWriter struct {
	sqlplugin.AdminDB
	tx *sql.Tx
}

func (w schemaWriter) Exec(stmt string, args ...any) error {
	_, err := w.tx.Exec(stmt, args...) //nolint:noctx // the interface passes no context on
	return err
}

// fingerprintOf hashes the definitions of all tables, indexes and triggers except ours.
func fingerprintOf(ctx context.Context, tx *sql.Tx) (string, error) {
	rows, err := tx.QueryContext(ctx,
		`SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL AND name <> 'windlass_stamp' ORDER BY name`)
	if err != nil {
		return "", err
	}
	defer rows.Close()
	hash := sha256.New()
	for rows.Next() {
		var name, definition string
		if err := rows.Scan(&name, &definition); err != nil {
			return "", err
		}
		_, _ = io.WriteString(hash, name+"\n"+definition+"\n") // a hash never fails
	}
	return hex.EncodeToString(hash.Sum(nil))[:16], rows.Err()
}

// checkFile rejects a file that this server cannot use.
func checkFile(ctx context.Context, path string) error {
	db, err := openFile(path, "rw")
	if err != nil {
		return err
	}
	defer db.Close()
	var schema, server string
	if err := db.QueryRowContext(ctx, selectStamp).Scan(&schema, &server); err != nil {
		return fmt.Errorf("%s was not made by windlass-temporal (%w): choose another file with --db-filename", path, err)
	}
	if schema != schemaFingerprint || newer(server, headers.ServerVersion) {
		return fmt.Errorf("%s was made by Temporal server %s and does not fit this one (%s): "+
			"use the program that made it, or move the file away to start empty", path, server, headers.ServerVersion)
	}
	if _, err := db.ExecContext(ctx, updateStamp, headers.ServerVersion); err != nil { // which also proves that the file is writable
		return notWritable(path, err)
	}
	return nil
}

// newer reports whether the file's server is newer than this one, ignoring patch releases, which keep the stored formats.
func newer(file, program string) bool {
	var f, p [2]int
	if _, err := fmt.Sscanf(file, "%d.%d", &f[0], &f[1]); err != nil {
		return true
	}
	if _, err := fmt.Sscanf(program, "%d.%d", &p[0], &p[1]); err != nil {
		return false
	}
	return f[0] > p[0] || f[0] == p[0] && f[1] > p[1]
}
