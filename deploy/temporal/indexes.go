package main

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
)

// keptIndexes are the visibility indexes that Windlass and the Temporal UI use: the order of the list, workflow id, status, kind of
// workflow (schedules), schedule, and the four attributes of Windlass.
var keptIndexes = []string{
	"default_idx", "by_workflow_id", "by_status", "by_temporal_namespace_division", "by_temporal_scheduled_by_id",
	"by_keyword_01", "by_keyword_02", "by_keyword_03", "by_keyword_04",
}

// dropIndexes removes all other visibility indexes. Temporal creates 58, one for each searchable attribute, and the start and end of every
// turn writes all of them: more than a third of a turn's cost on the server. Searching by other attributes still works; it scans the list,
// which is short on one machine.
func dropIndexes(ctx context.Context, tx *sql.Tx) error {
	names, err := visibilityIndexes(ctx, tx)
	if err != nil {
		return err
	}
	for _, name := range names {
		if slices.Contains(keptIndexes, name) {
			continue
		}
		if _, err := tx.ExecContext(ctx, `DROP INDEX "`+name+`"`); err != nil {
			return fmt.Errorf("drop index %s: %w", name, err)
		}
	}
	return nil
}

func visibilityIndexes(ctx context.Context, tx *sql.Tx) ([]string, error) {
	rows, err := tx.QueryContext(ctx,
		`SELECT name FROM sqlite_master WHERE type = 'index' AND sql IS NOT NULL AND tbl_name = 'executions_visibility' ORDER BY name`)
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
