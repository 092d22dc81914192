package store

import (
	"context"

	"github.com/windlass-dev/windlass/libs/sqldb"
)

// Fire is one time that a schedule fired. Times are Unix microseconds.
type Fire struct {
	// Tenant, ScheduleID and Key name it.
	Tenant, ScheduleID, Key string
	// Manual: somebody asked for it.
	Manual bool
	// DueUs is when it should have been, CreateUs when it was.
	DueUs, CreateUs int64
	// Outcome is a windlass.sessions.v1.ScheduleFire's; Pending while it may still become another, then looked at from LookUs on.
	Outcome string
	Pending bool
	LookUs  int64
	// TurnID and SessionID are what it began; Error why it began nothing.
	TurnID, SessionID, Error string
}

const fireColumns = "tenant, schedule_id, fire_key, manual, due_us, create_us, outcome, pending, look_us, turn_id, session_id, error"

func scanFire(s sqldb.Scanner) (f Fire, err error) {
	var manual, pending int64
	err = s.Scan(&f.Tenant, &f.ScheduleID, &f.Key, &manual, &f.DueUs, &f.CreateUs, &f.Outcome, &pending, &f.LookUs, &f.TurnID, &f.SessionID, &f.Error)
	f.Manual, f.Pending = manual != 0, pending != 0
	return f, err
}

const newestFires = "SELECT " + fireColumns + " FROM schedule_fires WHERE tenant = $1 AND schedule_id = $2 ORDER BY create_us DESC, fire_key DESC LIMIT $3"

// ScheduleWithFires reads one with the newest of its fires, both as they were at one moment. ErrNotFound when there is none.
func (s *Store) ScheduleWithFires(ctx context.Context, tenant, id string, limit int) (row Schedule, fires []Fire, err error) {
	err = s.db.Read(ctx, func(q sqldb.Querier) error {
		if row, err = sqldb.One(ctx, q, scanSchedule, selectSchedule, tenant, id); err != nil {
			return err
		}
		fires, err = sqldb.All(ctx, q, scanFire, newestFires, tenant, id, limit)
		return err
	})
	return row, fires, meaning(err)
}

const selectFire = "SELECT " + fireColumns + " FROM schedule_fires WHERE tenant = $1 AND schedule_id = $2 AND fire_key = $3"

// Fire reads one of a locked schedule. ErrNotFound when there is none.
func (tx *Tx) Fire(ctx context.Context, tenant, schedule, key string) (Fire, error) {
	return sqldb.One(ctx, tx, scanFire, selectFire, tenant, schedule, key)
}

// PutFire stores a fire of a locked schedule, or what has become of it.
func (tx *Tx) PutFire(ctx context.Context, f Fire) error {
	_, err := sqldb.Exec(ctx, tx, "INSERT INTO schedule_fires ("+fireColumns+`) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)
		ON CONFLICT (tenant, schedule_id, fire_key) DO UPDATE SET outcome = excluded.outcome, pending = excluded.pending, look_us = excluded.look_us,
		turn_id = excluded.turn_id, session_id = excluded.session_id, error = excluded.error`,
		f.Tenant, f.ScheduleID, f.Key, flag(f.Manual), f.DueUs, f.CreateUs, f.Outcome, flag(f.Pending), f.LookUs, f.TurnID, f.SessionID, f.Error)
	return err
}

// PendingFires lists fires of all schedules that are to be looked at by now, those due longest first.
func (s *Store) PendingFires(ctx context.Context, nowUs int64, limit int) ([]Fire, error) {
	return all(ctx, s.db.Reader(), scanFire, "SELECT "+fireColumns+
		" FROM schedule_fires WHERE pending = 1 AND look_us <= $1 ORDER BY look_us, create_us LIMIT $2", nowUs, limit)
}

// PostponeFire says when a pending fire is looked at next.
func (tx *Tx) PostponeFire(ctx context.Context, f Fire, lookUs int64) error {
	_, err := sqldb.Exec(ctx, tx, "UPDATE schedule_fires SET look_us = $4 WHERE tenant = $1 AND schedule_id = $2 AND fire_key = $3 AND pending = 1",
		f.Tenant, f.ScheduleID, f.Key, lookUs)
	return err
}

// PendingFiresOf lists what is pending of a locked schedule, oldest first.
func (tx *Tx) PendingFiresOf(ctx context.Context, tenant, schedule string) ([]Fire, error) {
	return sqldb.All(ctx, tx, scanFire, "SELECT "+fireColumns+
		" FROM schedule_fires WHERE tenant = $1 AND schedule_id = $2 AND pending = 1 ORDER BY create_us, fire_key", tenant, schedule)
}

// RunningFires counts the turns of a locked schedule that have not ended.
func (tx *Tx) RunningFires(ctx context.Context, tenant, schedule string) (int, error) {
	return sqldb.One(ctx, tx, sqldb.Column[int], `SELECT count(*) FROM schedule_fires f JOIN turns t ON t.tenant = f.tenant AND t.id = f.turn_id
		WHERE f.tenant = $1 AND f.schedule_id = $2 AND f.turn_id <> '' AND t.end_us = 0`, tenant, schedule)
}

// FiredSince tells whether the clock has fired a locked schedule at or after a time, beside the fire with the given key.
func (tx *Tx) FiredSince(ctx context.Context, tenant, schedule, key string, us int64) (bool, error) {
	n, err := sqldb.One(ctx, tx, sqldb.Column[int], `SELECT count(*) FROM schedule_fires WHERE tenant = $1 AND schedule_id = $2 AND fire_key <> $3
		AND manual = 0 AND create_us >= $4 AND outcome <> 'missed'`, tenant, schedule, key, us)
	return n > 0, err
}

// TrimFires removes all but the newest fires of a locked schedule, those that are pending, and those whose turn has not ended.
func (tx *Tx) TrimFires(ctx context.Context, tenant, schedule string, keep int) error {
	_, err := sqldb.Exec(ctx, tx, `DELETE FROM schedule_fires WHERE tenant = $1 AND schedule_id = $2 AND pending = 0
		AND fire_key NOT IN (SELECT fire_key FROM schedule_fires WHERE tenant = $1 AND schedule_id = $2 ORDER BY create_us DESC, fire_key DESC LIMIT $3)
		AND NOT EXISTS (SELECT 1 FROM turns t WHERE t.tenant = schedule_fires.tenant AND t.id = schedule_fires.turn_id AND t.end_us = 0)`,
		tenant, schedule, keep)
	return err
}

// DropFires removes all fires of a schedule.
func (tx *Tx) DropFires(ctx context.Context, tenant, schedule string) error {
	_, err := sqldb.Exec(ctx, tx, "DELETE FROM schedule_fires WHERE tenant = $1 AND schedule_id = $2", tenant, schedule)
	return err
}
