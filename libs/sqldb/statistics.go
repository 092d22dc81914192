package sqldb

import (
	"context"
	"fmt"
	"strconv"
	"strings"
)

const (
	// manyRows is how many rows SQLite's planner takes each table to have, and fewRows each partial index: those hold what is under way.
	manyRows = 1_000_000
	fewRows  = 1_000
	// thinning is how much fewer rows each further column of an index is taken to leave.
	thinning = 100
)

// describe tells SQLite's planner what the tables will look like, in sqlite_stat1, which SQLite lets programs write: large, of one tenant. Without it the
// planner takes the first column of any key to leave ten rows, so it looks for the turns of a session among all turns of the tenant, though there is an index of
// them. Statistics that ANALYZE would make of the present rows are no better: the tables are empty when the statements are first planned. A file that was
// described before is left alone unless its tables have changed.
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
		// The empty table makes all connections read the schema again, and with it the statistics.
		for _, statement := range []string{"ANALYZE sqlite_schema", "DELETE FROM sqlite_stat1", "CREATE TABLE described (x)", "DROP TABLE described"} {
			if _, err := tx.ExecContext(ctx, statement); err != nil {
				return fmt.Errorf("describe tables: %w", err)
			}
		}
		for _, i := range indexes {
			if _, err := tx.ExecContext(ctx, "INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES ($1, $2, $3)", i.table, i.name, i.statistics()); err != nil {
				return fmt.Errorf("describe index %s: %w", i.name, err)
			}
		}
		return nil
	})
}

// index is one of a table, with its columns in order, separated by blanks.
type index struct {
	table, name, columns string
	primary              bool // of a table that is kept in the order of its key: named like the table
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

// statistics are the rows in the index, then how many of them agree in the first column, the first two, and so on.
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
