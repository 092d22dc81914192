// Package grantdb keeps which turns have a grant in the policy service, until policy was notified that they have ended.
package grantdb

import (
	"context"
	"time"

	"github.com/windlass-dev/windlass/libs/sqldb"
)

// Ended is a turn that has ended, and whose grant has not.
type Ended struct {
	Tenant, TurnID string
	// Attempts is how often policy was notified in vain.
	Attempts int64
}

// Add records that a turn has a grant.
func Add(ctx context.Context, tx sqldb.Tx, tenant, turn string) error {
	_, err := sqldb.Exec(ctx, tx, sqldb.Insert("turn_grants", "tenant, turn_id, due_us, attempts")+" ON CONFLICT (tenant, turn_id) DO NOTHING",
		tenant, turn, int64(0), int64(0))
	return err
}

// SetEnded records that a turn has ended, and reports whether it has a grant.
func SetEnded(ctx context.Context, tx sqldb.Tx, tenant, turn string, now time.Time) (bool, error) {
	n, err := sqldb.Exec(ctx, tx, `UPDATE turn_grants SET due_us = $1 WHERE tenant = $2 AND turn_id = $3`, sqldb.Micros(now), tenant, turn)
	return n > 0, err
}

// Due lists at most limit turns whose grants are to be ended by now.
func Due(ctx context.Context, q sqldb.Querier, now time.Time, limit int) ([]Ended, error) {
	scan := func(s sqldb.Scanner) (e Ended, err error) {
		err = s.Scan(&e.Tenant, &e.TurnID, &e.Attempts)
		return e, err
	}
	return sqldb.All(ctx, q, scan, `SELECT tenant, turn_id, attempts FROM turn_grants WHERE due_us > 0 AND due_us <= $1
		ORDER BY due_us LIMIT $2`, sqldb.Micros(now), limit)
}

// Remove deletes a turn.
func Remove(ctx context.Context, tx sqldb.Tx, e Ended) error {
	_, err := sqldb.Exec(ctx, tx, `DELETE FROM turn_grants WHERE tenant = $1 AND turn_id = $2`, e.Tenant, e.TurnID)
	return err
}

// Postpone has policy notified again at a time.
func Postpone(ctx context.Context, tx sqldb.Tx, e Ended, next time.Time) error {
	_, err := sqldb.Exec(ctx, tx, `UPDATE turn_grants SET due_us = $1, attempts = attempts + 1 WHERE tenant = $2 AND turn_id = $3`,
		sqldb.Micros(next), e.Tenant, e.TurnID)
	return err
}
