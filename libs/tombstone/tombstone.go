// Package tombstone marks what was erased, so that a row that is written late is not one of what is gone.
package tombstone

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/windlass-dev/windlass/libs/sqldb"
)

// kept is how long marks are kept: far longer than a row can be late.
const kept = time.Hour

// Table has the marks of a service. Its columns are tenant, id and at_us, its key is (id, tenant), and there is an index of at_us.
type Table struct {
	db   *sqldb.DB
	name string
}

// Of returns the marks in a table.
func Of(db *sqldb.DB, table string) Table { return Table{db, table} }

// ID identifies what was erased.
type ID struct{ Tenant, ID string }

// Bury marks what the transaction is about to erase. On PostgreSQL it waits for transactions that have called Buried, and later ones wait
// for it: each late row is either erased or recognized. Call it before the first row is erased. Marks that are old are deleted.
func (t Table) Bury(ctx context.Context, tx sqldb.Tx, tenant string, ids []string) error {
	at := t.db.Now()
	for _, id := range ids {
		if _, err := sqldb.Exec(ctx, tx, `INSERT INTO `+t.name+` (tenant, id, at_us) VALUES ($1, $2, $3) ON CONFLICT (id, tenant) DO UPDATE
			SET at_us = excluded.at_us`,
			tenant, id, sqldb.Micros(at)); err != nil {
			return fmt.Errorf("mark what is erased: %w", err)
		}
	}
	if _, err := sqldb.Exec(ctx, tx, `DELETE FROM `+t.name+` WHERE at_us < $1`, sqldb.Micros(at.Add(-kept))); err != nil {
		return fmt.Errorf("delete old marks: %w", err)
	}
	return nil
}

// Buried returns which of the given ids are marked. Call it before the transaction writes the rows.
func (t Table) Buried(ctx context.Context, tx sqldb.Tx, ids []ID) (map[ID]bool, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	if t.db.Dialect() == sqldb.Postgres {
		if _, err := sqldb.Exec(ctx, tx, `LOCK TABLE `+t.name+` IN SHARE MODE`); err != nil {
			return nil, fmt.Errorf("lock marks: %w", err)
		}
	}
	var args []any
	for _, id := range ids {
		if !slices.Contains(args, any(id.ID)) {
			args = append(args, id.ID)
		}
	}
	buried := map[ID]bool{}
	err := sqldb.Groups(args, func(group []any) error {
		found, err := sqldb.All(ctx, tx, scan, `SELECT tenant, id FROM `+t.name+` WHERE id IN (`+sqldb.Placeholders(1, len(group))+`)`, group...)
		for _, id := range found {
			buried[id] = true
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read marks: %w", err)
	}
	return buried, nil
}

func scan(row sqldb.Scanner) (id ID, err error) {
	err = row.Scan(&id.Tenant, &id.ID)
	return id, err
}
