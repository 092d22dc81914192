package scheduledb

import (
	"context"
	"time"

	"github.com/windlass-dev/windlass/libs/sqldb"
	"github.com/windlass-dev/windlass/services/sessions/store/rows"
)

// FireOutcome is what became of a fire.
type FireOutcome string

// The outcomes. FireStarting and FireQueued are not final.
const (
	// FireStarting: its turn is being started.
	FireStarting FireOutcome = "starting"
	// FireStarted: it started a turn.
	FireStarted FireOutcome = "started"
	// FireQueued: it waits for the turn before it.
	FireQueued FireOutcome = "queued"
	// FireSkipped: the overlap policy left it out.
	FireSkipped FireOutcome = "skipped"
	// FireMissed: it came too late.
	FireMissed FireOutcome = "missed"
	// FireFailed: no turn could be started.
	FireFailed FireOutcome = "failed"
	// FireGone: its schedule is deleted or paused. It is not stored.
	FireGone FireOutcome = "gone"
)

// Pending reports whether the outcome may still change.
func (o FireOutcome) Pending() bool { return o == FireStarting || o == FireQueued }

// Fire is one time that a schedule fired.
type Fire struct {
	// Tenant, ScheduleID and Key name it.
	Tenant, ScheduleID, Key string
	// Manual: a caller asked for it.
	Manual bool
	// Due is when it should have been, CreateTime when it was.
	Due, CreateTime time.Time
	Outcome         FireOutcome
	// NextAttempt is when a pending fire is next looked at.
	NextAttempt time.Time
	// TurnID and SessionID are of the turn that it started; Error is why there is none.
	TurnID, SessionID, Error string
}

const fireColumns = "tenant, schedule_id, fire_key, manual, due_us, create_us, outcome, pending, look_us, turn_id, session_id, error"

func scanFire(s sqldb.Scanner) (f Fire, err error) {
	var manual, pending, due, create, next int64
	err = s.Scan(&f.Tenant, &f.ScheduleID, &f.Key, &manual, &due, &create, &f.Outcome, &pending, &next, &f.TurnID, &f.SessionID, &f.Error)
	f.Manual, f.Due, f.CreateTime, f.NextAttempt = manual != 0, sqldb.Time(due), sqldb.Time(create), sqldb.Time(next)
	return f, err
}

const newestFires = "SELECT " + fireColumns + " FROM schedule_fires WHERE tenant = $1 AND schedule_id = $2 ORDER BY create_us DESC, " +
	"fire_key DESC LIMIT $3"

// ScheduleWithFires reads one with the newest of its fires, both as they were at one moment. ErrNotFound when there is none.
func (s *Reader) ScheduleWithFires(ctx context.Context, tenant, id string, limit int) (row Schedule, fires []Fire, err error) {
	err = s.DB.Read(ctx, func(q sqldb.Querier) error {
		if row, err = sqldb.One(ctx, q, scanSchedule, selectSchedule, tenant, id); err != nil {
			return err
		}
		fires, err = sqldb.All(ctx, q, scanFire, newestFires, tenant, id, limit)
		return err
	})
	return row, fires, rows.Meaning(err)
}

const selectFire = "SELECT " + fireColumns + " FROM schedule_fires WHERE tenant = $1 AND schedule_id = $2 AND fire_key = $3"

// Fire reads one of a locked schedule. ErrNotFound when there is none.
func (tx *Tx) Fire(ctx context.Context, tenant, schedule, key string) (Fire, error) {
	return sqldb.One(ctx, tx, scanFire, selectFire, tenant, schedule, key)
}

var insertScheduleFires = sqldb.Insert("schedule_fires", fireColumns) + `
		ON CONFLICT (tenant, schedule_id, fire_key) DO UPDATE SET outcome = excluded.outcome, pending = excluded.pending,
		look_us = excluded.look_us, turn_id = excluded.turn_id, session_id = excluded.session_id, error = excluded.error`

// PutFire stores a fire of a locked schedule, or what has become of it.
func (tx *Tx) PutFire(ctx context.Context, f Fire) error {
	_, err := sqldb.Exec(ctx, tx, insertScheduleFires,
		f.Tenant, f.ScheduleID, f.Key, rows.Flag(f.Manual), sqldb.Micros(f.Due), sqldb.Micros(f.CreateTime), string(f.Outcome),
		rows.Flag(f.Outcome.Pending()),
		sqldb.Micros(f.NextAttempt), f.TurnID, f.SessionID, f.Error)
	return err
}

// DueFires lists pending fires of all schedules whose NextAttempt has come, those due longest first.
func (s *Reader) DueFires(ctx context.Context, now time.Time, limit int) ([]Fire, error) {
	return rows.All(ctx, s.DB.Reader(), scanFire, "SELECT "+fireColumns+
		" FROM schedule_fires WHERE pending = 1 AND look_us <= $1 ORDER BY look_us, create_us LIMIT $2", sqldb.Micros(now), limit)
}

// PostponeFire sets NextAttempt of a pending fire.
func (tx *Tx) PostponeFire(ctx context.Context, f Fire, next time.Time) error {
	_, err := sqldb.Exec(ctx, tx,
		"UPDATE schedule_fires SET look_us = $4 WHERE tenant = $1 AND schedule_id = $2 AND fire_key = $3 AND pending = 1",
		f.Tenant, f.ScheduleID, f.Key, sqldb.Micros(next))
	return err
}

// PendingFires lists the pending fires of a locked schedule, oldest first.
func (tx *Tx) PendingFires(ctx context.Context, tenant, schedule string) ([]Fire, error) {
	return sqldb.All(ctx, tx, scanFire, "SELECT "+fireColumns+
		" FROM schedule_fires WHERE tenant = $1 AND schedule_id = $2 AND pending = 1 ORDER BY create_us, fire_key", tenant, schedule)
}

// RunningFires counts the turns of a locked schedule that have not ended.
func (tx *Tx) RunningFires(ctx context.Context, tenant, schedule string) (int, error) {
	return sqldb.One(ctx, tx, sqldb.Column[int], `SELECT count(*) FROM schedule_fires f JOIN turns t ON t.tenant = f.tenant AND t.id =
		f.turn_id
		WHERE f.tenant = $1 AND f.schedule_id = $2 AND f.turn_id <> '' AND t.end_us = 0`, tenant, schedule)
}

// FiredSince reports whether a locked schedule was fired by time at or after since, by another fire than the one with the given key.
func (tx *Tx) FiredSince(ctx context.Context, tenant, schedule, key string, since time.Time) (bool, error) {
	n, err := sqldb.One(ctx, tx, sqldb.Column[int], `SELECT count(*) FROM schedule_fires WHERE tenant = $1 AND schedule_id = $2 AND
		fire_key <> $3
		AND manual = 0 AND create_us >= $4 AND outcome <> 'missed'`, tenant, schedule, key, sqldb.Micros(since))
	return n > 0, err
}

// TrimFires removes all but the newest fires of a locked schedule, those that are pending, and those whose turn has not ended.
func (tx *Tx) TrimFires(ctx context.Context, tenant, schedule string, keep int) error {
	_, err := sqldb.Exec(ctx, tx, `DELETE FROM schedule_fires WHERE tenant = $1 AND schedule_id = $2 AND pending = 0
		AND fire_key NOT IN (SELECT fire_key FROM schedule_fires WHERE tenant = $1 AND schedule_id = $2 ORDER BY create_us DESC, fire_key
		DESC LIMIT $3)
		AND NOT EXISTS (SELECT 1 FROM turns t WHERE t.tenant = schedule_fires.tenant AND t.id = schedule_fires.turn_id AND t.end_us = 0)`,
		tenant, schedule, keep)
	return err
}

// DeleteFires removes all fires of a schedule.
func (tx *Tx) DeleteFires(ctx context.Context, tenant, schedule string) error {
	_, err := sqldb.Exec(ctx, tx, "DELETE FROM schedule_fires WHERE tenant = $1 AND schedule_id = $2", tenant, schedule)
	return err
}
