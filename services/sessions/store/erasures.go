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

// Erased notes that nothing is left of turns. A turn whose workflow may be started yet is due again when its start is over.
func (s *sessionReader) Erased(ctx context.Context, turns []Erasure, now time.Time) error {
	return s.Transact(ctx, func(tx *rows.Tx) error {
		for _, e := range turns {
			for _, statement := range []string{
				"DELETE FROM turn_erasures WHERE tenant = $1 AND turn_id = $2 AND again_us <= $3",
				"UPDATE turn_erasures SET due_us = again_us, attempts = 0 WHERE tenant = $1 AND turn_id = $2 AND again_us > $3",
			} {
				if _, err := sqldb.Exec(ctx, tx, statement, e.Tenant, e.TurnID, sqldb.Micros(now)); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// addErasures notes a session and its turns. A replica may be starting the workflow of a turn that it has taken out of the outbox, which
// would be there after the turn is erased.
func addErasures(ctx context.Context, tx *sessionTx, tenant, session string) error {
	if _, err := sqldb.All(ctx, tx, sqldb.Column[string], // one that is taking a turn right now has taken it then
		`SELECT turn_id FROM turn_outbox WHERE tenant = $1 AND turn_id IN (SELECT id FROM turns WHERE tenant = $1 AND session_id = $2)`+
			tx.DB.ForUpdate(), tenant, session); err != nil {
		return err
	}
	_, err := sqldb.Exec(ctx, tx, `INSERT INTO turn_erasures (tenant, turn_id, due_us, attempts, again_us)
		SELECT tenant, id, 0, 0, COALESCE((SELECT claimed_until_us FROM turn_outbox o
			WHERE o.tenant = turns.tenant AND o.turn_id = turns.id AND o.attempts > 0), 0)
		FROM turns WHERE tenant = $1 AND session_id = $2
		UNION ALL SELECT tenant, id, 0, 0, 0 FROM sessions WHERE tenant = $1 AND id = $2`, tenant, session)
	return err
}
