package sqldb

import (
	"context"
	"fmt"
	"strconv"
	"strings"
)

const (
	// manyRows is the assumed size of each table, and fewRows that of each partial index, which hold work in progress.
	manyRows = 1_000_000
	fewRows  = 1_000
	// thinning is the assumed selectivity of each further column of an index.
	thinning = 100
)

// describe writes assumed statistics to sqlite_stat1 for SQLite's planner: large tables of one tenant. Without them the planner assumes
// that the first column of any key leaves ten rows, and searches for the turns of a session among all turns of the tenant despite an index.
// Statistics by ANALYZE are no better, since tables are empty when the statements are first planned. A file that already has statistics is
// unchanged unless its tables have changed.
func (db *DB) describe(ctx context.Context, changed bool) error {
	known, err := One(ctx, db.write, Column[int], "SELECT count(*) FROM sqlite_schema WHERE name = 'sqlite_stat1'")
	if err != nil || known > 0 && !changed {
		return err
	}
	indexes, err := db.indexes(ctx)
	if err != nil {
		return err
	}
	return db.writeOnce(ctx, func(tx Tx) error {
		// Creating and dropping a table makes all connections reload the schema, and with it the statistics.
		for _, statement := range []string{
			"ANALYZE sqlite_schema", "DELETE FROM sqlite_stat1", "CREATE TABLE described (x)",
			"DROP TABLE described",
		} {
			if _, err := tx.ExecContext(ctx, statement); err != nil {
				return fmt.Errorf("describe tables: %w", err)
			}
		}
		for _, i := range indexes {
			if _, err := tx.ExecContext(ctx, "INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES ($1, $2, $3)", i.table, i.name,
				i.statistics()); err != nil {
				return fmt.Errorf("describe index %s: %w", i.name, err)
			}
		}
		return nil
	})
}

// index is an index of a table, with its columns in order, separated by spaces.
type index struct {
	table, name, columns string
	primary              bool // of a table stored in key order (WITHOUT ROWID): named like the table
	unique, partial      bool
}

func (db *DB) indexes(ctx context.Context) ([]index, error) {
	scan := func(s Scanner) (i index, err error) {
		var primary int
		err = s.Scan(&i.table, &i.name, &i.unique, &i.partial, &primary, &i.columns)
		if i.primary = primary == 1; i.primary {
			i.name = i.table
		}
		return i, err
	}
	return All(ctx, db.write, scan, `SELECT t.name, i.name, i."unique", i.partial, i.origin = 'pk' AND t.wr,
		(SELECT group_concat(COALESCE(c.name, '?'), ' ') FROM pragma_index_info(i.name) c)
		FROM pragma_table_list t JOIN pragma_index_list(t.name) i WHERE t.schema = 'main' AND t.type = 'table'`)
}

// statistics returns the number of rows in the index, then how many of them agree in the first column, the first two, and so on.
func (i index) statistics() string {
	rows := manyRows
	if i.partial {
		rows = fewRows
	}
	out := []string{strconv.Itoa(rows)}
	columns := strings.Fields(i.columns)
	for n, column := range columns {
		if n > 0 || column != "tenant" {
			rows = max(rows/thinning, 2)
		}
		if n == len(columns)-1 && i.unique {
			rows = 1
		}
		out = append(out, strconv.Itoa(rows))
	}
	return strings.Join(out, " ")
}
