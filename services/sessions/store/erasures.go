package store

import (
	"context"
	"time"

	"github.com/windlass-dev/windlass/libs/sqldb"
	"github.com/windlass-dev/windlass/services/sessions/store/rows"
)

// Erasure is a turn of a deleted session of which other services still have something.
type Erasure struct {
	// Tenant and TurnID name it.
	Tenant, TurnID string
	// Attempts counts how often it was taken.
	Attempts int
}

func scanErasure(s sqldb.Scanner) (e Erasure, err error) {
	err = s.Scan(&e.Tenant, &e.TurnID, &e.Attempts)
	return e, err
}

// TakeErasures gives turns that are due, of one tenant, and has others leave them alone until the given time.
func (s *sessionReader) TakeErasures(ctx context.Context, now, until time.Time, limit int) (out []Erasure, err error) {
	some, err := sqldb.All(ctx, s.DB.Reader(), scanErasure, "SELECT tenant, turn_id, attempts FROM turn_erasures WHERE due_us <= $1 LIMIT 1",
		sqldb.Micros(now))
	if err != nil || len(some) == 0 {
		return nil, rows.Meaning(err)
	}
	err = s.Transact(ctx, func(tx *rows.Tx) error {
		out, err = sqldb.All(ctx, tx, scanErasure, `SELECT tenant, turn_id, attempts FROM turn_erasures WHERE due_us <= $1 AND tenant = $2
			ORDER BY due_us, turn_id LIMIT $3`+tx.DB.SkipLocked(), sqldb.Micros(now), some[0].Tenant, limit)
		if err != nil {
			return err
		}
		for i := range out {
			out[i].Attempts++
			if err := postponeErasure(ctx, tx, out[i], until); err != nil {
				return err
			}
		}
		return nil
	})
	return out, err
}

func postponeErasure(ctx context.Context, tx *rows.Tx, e Erasure, until time.Time) error {
	_, err := sqldb.Exec(ctx, tx, "UPDATE turn_erasures SET due_us = $3, attempts = $4 WHERE tenant = $1 AND turn_id = $2",
		e.Tenant, e.TurnID, sqldb.Micros(until), int64(e.Attempts))
	return err
}

// PostponeErasures has turns taken again from the given time on.
func (s *sessionReader) PostponeErasures(ctx context.Context, turns []Erasure, until time.Time) error {
	return s.Transact(ctx, func(tx *rows.Tx) error {
		for _, e := range turns {
			if err := postponeErasure(ctx, tx, e, until); err != nil {
				return err
			}
		}
		return nil
	})
}

// Erased notes that nothing is left of turns.
func (s *sessionReader) Erased(ctx context.Context, turns []Erasure) error {
	return s.Transact(ctx, func(tx *rows.Tx) error {
		for _, e := range turns {
			if _, err := sqldb.Exec(ctx, tx, "DELETE FROM turn_erasures WHERE tenant = $1 AND turn_id = $2", e.Tenant, e.TurnID); err != nil {
				return err
			}
		}
		return nil
	})
}
