package store

import (
	"context"

	"github.com/windlass-dev/windlass/libs/sqldb"
)

// Schedule begins turns by the clock. Times are Unix microseconds, 0 = never.
type Schedule struct {
	// Tenant and ID name it; Subject made it.
	Tenant, ID, Subject string
	// Data is the windlass.sessions.v1.Schedule as its owner set it; Principal the windlass.policy.v1.Principal that its turns run for.
	Data, Principal []byte
	// Paused: the clock does not fire it. Deleted: only Temporal must be told yet.
	Paused, Deleted bool
	// Revision counts changes; Synced is the one that Temporal has.
	Revision, Synced int64
	// CheckUs is when Temporal is next told or asked, Attempts how often that failed since it last went well.
	CheckUs, Attempts int64
	// LastFireUs, LastTurnID and LastError tell of its last fire.
	LastFireUs            int64
	LastTurnID, LastError string
	// CreateUs and UpdateUs are when it was made and changed.
	CreateUs, UpdateUs int64
}

const scheduleColumns = `tenant, id, subject, data, principal, paused, deleted, revision, synced, check_us, attempts, last_fire_us, last_turn_id,
	last_error, create_us, update_us`

func scanSchedule(s sqldb.Scanner) (v Schedule, err error) {
	var paused, deleted int64
	err = s.Scan(&v.Tenant, &v.ID, &v.Subject, &v.Data, &v.Principal, &paused, &deleted, &v.Revision, &v.Synced, &v.CheckUs, &v.Attempts,
		&v.LastFireUs, &v.LastTurnID, &v.LastError, &v.CreateUs, &v.UpdateUs)
	v.Paused, v.Deleted = paused != 0, deleted != 0
	return v, err
}

const selectSchedule = "SELECT " + scheduleColumns + " FROM schedules WHERE tenant = $1 AND id = $2"

// Schedule reads one, also a deleted one that Temporal still has. ErrNotFound when there is none.
func (s *Store) Schedule(ctx context.Context, tenant, id string) (Schedule, error) {
	return one(ctx, s.db.Reader(), scanSchedule, selectSchedule, tenant, id)
}

// Schedules lists schedules that are not deleted by id, after the given one; of one subject where it is named.
func (s *Store) Schedules(ctx context.Context, tenant, subject, after string, limit int) ([]Schedule, error) {
	return all(ctx, s.db.Reader(), scanSchedule, "SELECT "+scheduleColumns+` FROM schedules WHERE tenant = $1 AND id > $2 AND deleted = 0
		AND ($3 = '' OR subject = $3) ORDER BY id LIMIT $4`, tenant, after, subject, limit)
}

// CountSchedules counts a tenant's schedules, and those of one subject; deleted ones do not count.
func (tx *Tx) CountSchedules(ctx context.Context, tenant, subject string) (count, own int, err error) {
	type counts struct{ all, own int }
	n, err := sqldb.One(ctx, tx, func(s sqldb.Scanner) (n counts, err error) {
		err = s.Scan(&n.all, &n.own)
		return n, err
	}, "SELECT count(*), COALESCE(SUM(CASE WHEN subject = $2 THEN 1 ELSE 0 END), 0) FROM schedules WHERE tenant = $1 AND deleted = 0", tenant, subject)
	return n.all, n.own, err
}

// LockSchedule reads one and keeps others from changing it or its fires until the transaction ends. ErrNotFound when there is none.
func (tx *Tx) LockSchedule(ctx context.Context, tenant, id string) (Schedule, error) {
	return sqldb.One(ctx, tx, scanSchedule, selectSchedule+tx.db.ForUpdate(), tenant, id)
}

// AddSchedule stores a new schedule. A unique violation says that there is one with its id, perhaps deleted.
func (tx *Tx) AddSchedule(ctx context.Context, v Schedule) error {
	_, err := sqldb.Exec(ctx, tx, "INSERT INTO schedules ("+scheduleColumns+
		") VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16)",
		v.Tenant, v.ID, v.Subject, v.Data, v.Principal, flag(v.Paused), flag(v.Deleted), v.Revision, v.Synced, v.CheckUs, v.Attempts, v.LastFireUs,
		v.LastTurnID, v.LastError, v.CreateUs, v.UpdateUs)
	return err
}

// SaveSchedule writes all of a locked schedule but for what the sweeper changes (Synced, Attempts).
func (tx *Tx) SaveSchedule(ctx context.Context, v Schedule) error {
	return sqldb.ExecOne(ctx, tx, `UPDATE schedules SET subject = $3, data = $4, principal = $5, paused = $6, deleted = $7, revision = $8, check_us = $9,
		last_fire_us = $10, last_turn_id = $11, last_error = $12, create_us = $13, update_us = $14 WHERE tenant = $1 AND id = $2`,
		v.Tenant, v.ID, v.Subject, v.Data, v.Principal, flag(v.Paused), flag(v.Deleted), v.Revision, v.CheckUs, v.LastFireUs, v.LastTurnID, v.LastError,
		v.CreateUs, v.UpdateUs)
}

// DueSchedules lists schedules of which Temporal must be told or asked by now, those due longest first.
func (s *Store) DueSchedules(ctx context.Context, nowUs int64, limit int) ([]Schedule, error) {
	return all(ctx, s.db.Reader(), scanSchedule, "SELECT "+scheduleColumns+" FROM schedules WHERE check_us <= $1 ORDER BY check_us LIMIT $2", nowUs, limit)
}

// TakeSchedule keeps others from a due schedule until a time, unless it was changed or taken since it was read.
func (tx *Tx) TakeSchedule(ctx context.Context, v Schedule, untilUs int64) (bool, error) {
	n, err := sqldb.Exec(ctx, tx, "UPDATE schedules SET check_us = $5 WHERE tenant = $1 AND id = $2 AND revision = $3 AND check_us = $4",
		v.Tenant, v.ID, v.Revision, v.CheckUs, untilUs)
	return n == 1, err
}

// SetSynced notes the revision that Temporal has and when it is asked next. A schedule that was changed meanwhile stays due.
func (tx *Tx) SetSynced(ctx context.Context, v Schedule, checkUs int64) error {
	_, err := sqldb.Exec(ctx, tx, `UPDATE schedules SET synced = $3, attempts = 0, check_us = CASE WHEN revision = $3 THEN $4 ELSE check_us END
		WHERE tenant = $1 AND id = $2`, v.Tenant, v.ID, v.Revision, checkUs)
	return err
}

// SetUnsynced notes that Temporal could not be told, and when to try again.
func (tx *Tx) SetUnsynced(ctx context.Context, v Schedule, checkUs int64) error {
	_, err := sqldb.Exec(ctx, tx, "UPDATE schedules SET attempts = attempts + 1, check_us = $4 WHERE tenant = $1 AND id = $2 AND revision = $3",
		v.Tenant, v.ID, v.Revision, checkUs)
	return err
}

// ForgetSchedule removes a deleted schedule with its fires, unless it was made anew.
func (tx *Tx) ForgetSchedule(ctx context.Context, v Schedule) error {
	n, err := sqldb.Exec(ctx, tx, "DELETE FROM schedules WHERE tenant = $1 AND id = $2 AND revision = $3 AND deleted = 1", v.Tenant, v.ID, v.Revision)
	if err != nil || n == 0 {
		return err
	}
	return tx.DropFires(ctx, v.Tenant, v.ID)
}
