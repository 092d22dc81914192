package main

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
)

// sparseTriggers has the indexes of words and of lists of keywords hold only rows with some, and be written only when these change.
// Temporal's triggers write a row to each index for every workflow, and delete it and write it again at each change of its state.
func sparseTriggers(ctx context.Context, tx *sql.Tx) error {
	var statements []string
	for _, name := range []string{"executions_visibility_ai", "executions_visibility_ad", "executions_visibility_au"} {
		statements = append(statements, "DROP TRIGGER "+name)
	}
	for _, index := range []string{"executions_visibility_fts_text", "executions_visibility_fts_keyword_list"} {
		columns, err := columnsOf(ctx, tx, index)
		if err != nil {
			return err
		}
		statements = append(statements, triggers(index, columns)...)
	}
	for _, stmt := range statements {
		if _, err := tx.ExecContext(ctx, stmt); err != nil {
			return fmt.Errorf("%s: %w", stmt, err)
		}
	}
	return nil
}

// triggers returns the statements that create those of an index.
func triggers(index string, columns []string) []string {
	row := func(of string) string { return of + strings.Join(columns, ", "+of) }
	remove := fmt.Sprintf("INSERT INTO %s (%[1]s, rowid, %s) SELECT 'delete', OLD.rowid, %s WHERE coalesce(%[3]s) IS NOT NULL; ",
		index, row(""), row("OLD."))
	add := fmt.Sprintf("INSERT INTO %s (rowid, %s) SELECT NEW.rowid, %s WHERE coalesce(%[3]s) IS NOT NULL; ", index, row(""), row("NEW."))
	return []string{
		fmt.Sprintf("CREATE TRIGGER %s_ai AFTER INSERT ON executions_visibility BEGIN %s END", index, add),
		fmt.Sprintf("CREATE TRIGGER %s_ad AFTER DELETE ON executions_visibility BEGIN %s END", index, remove),
		fmt.Sprintf("CREATE TRIGGER %s_au AFTER UPDATE ON executions_visibility WHEN (%s) IS NOT (%s) BEGIN %s%s END",
			index, row("OLD."), row("NEW."), remove, add),
	}
}

func columnsOf(ctx context.Context, tx *sql.Tx, table string) ([]string, error) {
	rows, err := tx.QueryContext(ctx, "SELECT name FROM pragma_table_info(?)", table)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var names []string
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			return nil, err
		}
		names = append(names, name)
	}
	return names, rows.Err()
}
