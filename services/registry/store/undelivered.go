package store

import (
	"context"
	"fmt"
	"time"

	"github.com/windlass-dev/windlass/libs/sqldb"
)

func (q sqlLedger) Undelivered(ctx context.Context, owner string, before time.Time, limit int) ([]Execution, error) {
	found, err := sqldb.All(ctx, q.db.Reader(), func(row sqldb.Scanner) (e Execution, err error) {
		err = row.Scan(&e.Tenant, &e.ID, &e.Decision)
		return e, err
	}, `SELECT tenant, id, decision FROM executions WHERE decision IS NOT NULL AND created_us > 0 AND (owner = $1 OR created_us < $2)
		ORDER BY created_us LIMIT $3`, owner, sqldb.Micros(before), limit)
	if err != nil {
		return nil, fmt.Errorf("list undelivered decisions: %w", err)
	}
	return found, nil
}

func (q sqlLedger) Delivered(ctx context.Context, rows []Execution) error {
	return q.each(ctx, rows, "decision = NULL")
}

func (q sqlLedger) Refused(ctx context.Context, e Execution) error {
	return q.each(ctx, []Execution{e}, "refused_decision = decision, decision = NULL")
}

// each changes rows in one transaction.
func (q sqlLedger) each(ctx context.Context, rows []Execution, set string) error {
	err := q.db.Write(ctx, func(tx sqldb.Tx) error {
		for _, e := range rows {
			if _, err := sqldb.Exec(ctx, tx, `UPDATE executions SET `+set+` WHERE tenant = $1 AND id = $2`, e.Tenant, e.ID); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("mark decisions as delivered: %w", err)
	}
	return nil
}
