package store

import (
	"context"
	"time"

	"github.com/windlass-dev/windlass/libs/sqldb"
	"github.com/windlass-dev/windlass/services/sessions/store/rows"
	"github.com/windlass-dev/windlass/services/sessions/store/searchdb"
)

// HideSession has a locked session not exist for any method but RestoreSession, LockDeleted, Deleted and DeleteSession, which is to be
// called at the given time.
func (tx *sessionTx) HideSession(ctx context.Context, tenant, id string, erase time.Time) error {
	return sqldb.ExecOne(ctx, tx, "UPDATE sessions SET delete_us = $3 WHERE tenant = $1 AND id = $2", tenant, id, sqldb.Micros(erase))
}

// RestoreSession brings back a locked session that was hidden.
func (tx *sessionTx) RestoreSession(ctx context.Context, tenant, id string) error {
	if err := searchdb.SetDue(ctx, tx, tenant, id); err != nil {
		return err
	}
	return sqldb.ExecOne(ctx, tx, "UPDATE sessions SET delete_us = 0 WHERE tenant = $1 AND id = $2", tenant, id)
}

// DeletedSession is a hidden session.
type DeletedSession struct {
	Session
	// EraseTime is when it is to be erased.
	EraseTime time.Time
}

func scanDeleted(row sqldb.Scanner) (v DeletedSession, err error) {
	var labels string
	if err = row.Scan(append(v.columns(&labels), sqldb.TimeColumn(&v.EraseTime))...); err == nil {
		err = v.label(labels)
	}
	return v, err
}

// LockDeleted reads and locks a hidden session. ErrNotFound when there is none.
func (tx *sessionTx) LockDeleted(ctx context.Context, tenant, id string) (DeletedSession, error) {
	return sqldb.One(ctx, tx, scanDeleted, "SELECT "+sessionColumns+
		", delete_us FROM sessions WHERE tenant = $1 AND id = $2 AND delete_us > 0"+tx.DB.ForUpdate(), tenant, id)
}

// Deleted lists at most limit hidden sessions that are to be erased by now.
func (s *sessionReader) Deleted(ctx context.Context, now time.Time, limit int) ([]DeletedSession, error) {
	return rows.All(ctx, s.DB.Reader(), scanDeleted, "SELECT "+sessionColumns+
		", delete_us FROM sessions WHERE delete_us > 0 AND delete_us <= $1 ORDER BY delete_us, tenant, id LIMIT $2", sqldb.Micros(now), limit)
}
