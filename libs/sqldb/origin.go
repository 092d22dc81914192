package sqldb

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"slices"
)

// Origin is the data directory to which a SQLite file belongs. Its identity is in each of its files.
type Origin struct {
	// ID is the directory's identity. "" means that it is not known: the file's is taken, or a new one.
	ID string
	// Required says that the directory has had the file: ErrMissing if it is not there or empty.
	Required bool
}

// OriginID returns the identity of the file's data directory; "" without Config.Origin.
func (db *DB) OriginID() string { return db.origin }

// Claim checks a SQLite file that another program writes, as Open does its own, and returns the identity of the file's directory; "" if
// that is not known, or there is no file. marker is a table that each file of the program has. A file without identity gets o.ID.
func (o *Origin) Claim(ctx context.Context, path, program, marker string) (id string, err error) {
	if err := o.checkFile(path); err != nil {
		return "", err
	}
	if info, err := os.Stat(path); err != nil || info.Size() == 0 {
		return "", nil // its program creates it
	}
	db := &DB{schema: program, path: path, origin: o.ID}
	if db.write, err = sqlitePool(path, 1, "_txlock", "immediate"); err != nil {
		return "", fmt.Errorf("open database %s: %w", path, translate(err))
	}
	defer func() { err = errors.Join(err, db.write.Close()) }()
	if err := o.identifyFile(ctx, db, marker); err != nil {
		return "", fmt.Errorf("database %s: %w", path, translate(err))
	}
	return db.origin, nil
}

// checkFile returns ErrMissing instead of letting a file be created.
func (o *Origin) checkFile(path string) error {
	if o == nil || !o.Required {
		return nil
	}
	if info, err := os.Stat(path); err == nil && info.Size() > 0 || err != nil && !os.IsNotExist(err) {
		return nil // opening it reports what is wrong
	}
	return fmt.Errorf("%w: %s", ErrMissing, path)
}

// identify compares the file's identity with that of its directory, and gives it one if it has none.
func (o *Origin) identify(ctx context.Context, db *DB) error {
	if o == nil {
		return nil
	}
	if db.origin = o.ID; db.origin == "" {
		db.origin = rand.Text()
	}
	return o.identifyFile(ctx, db, "goose_"+db.schema) // files of versions without identities have it
}

// identifyFile is identify for a file that has a table marker, unless it is empty. Without db.origin it gets no identity.
func (o *Origin) identifyFile(ctx context.Context, db *DB, marker string) error {
	tx, err := db.write.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // nothing is left to roll back after the commit
	switch tables, err := All(ctx, tx, Column[string], "SELECT name FROM sqlite_master WHERE type = 'table'"); {
	case err != nil:
		return err
	case slices.Contains(tables, "windlass_file"):
		return o.compare(ctx, db, tx)
	case len(tables) == 0 && o.Required:
		return fmt.Errorf("%w: %s", ErrMissing, db.path)
	case len(tables) > 0 && !slices.Contains(tables, marker):
		return fmt.Errorf("%w: %s has none of the tables of %s", ErrForeign, db.path, db.schema)
	case db.origin == "":
		return nil
	}
	if _, err := tx.ExecContext(ctx, "CREATE TABLE windlass_file (directory TEXT NOT NULL, service TEXT NOT NULL) STRICT"); err != nil {
		return err
	}
	if err := ExecOne(ctx, tx, "INSERT INTO windlass_file (directory, service) VALUES ($1, $2)", db.origin, db.schema); err != nil {
		return err
	}
	return tx.Commit()
}

// compare returns ErrForeign for a file of another directory or service.
func (o *Origin) compare(ctx context.Context, db *DB, tx *sql.Tx) error {
	var service string
	if err := tx.QueryRowContext(ctx, "SELECT directory, service FROM windlass_file").Scan(&db.origin, &service); err != nil {
		return err
	}
	if service != db.schema {
		return fmt.Errorf("%w: %s is the one of %s", ErrForeign, db.path, service)
	}
	if o.ID != "" && o.ID != db.origin {
		return fmt.Errorf("%w: %s is of data directory %s, and this is %s", ErrForeign, db.path, db.origin, o.ID)
	}
	return nil
}
