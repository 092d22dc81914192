package scheduledb

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/windlass-dev/windlass/libs/sqldb"
	storev1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/store/v1"
	"github.com/windlass-dev/windlass/services/sessions/store/rows"
)

// Overlap says what becomes of a fire while a turn of its schedule runs.
type Overlap string

// The overlap policies. The empty one is OverlapSkip.
const (
	// OverlapSkip leaves the fire out.
	OverlapSkip Overlap = "skip"
	// OverlapQueue starts it when the turn has ended.
	OverlapQueue Overlap = "queue"
	// OverlapAllow starts it beside the turn.
	OverlapAllow Overlap = "allow"
)

// ScheduleSpec is what the owner of a schedule sets.
type ScheduleSpec struct {
	// DisplayName and Description are for people.
	DisplayName, Description string
	// AgentID is the agent of the sessions that it opens, SessionID the session that it adds turns to: one of them is set.
	AgentID, SessionID string
	// Input is the input of each turn; Params are those of the sessions that it opens, nil for none.
	Input  string
	Params *structpb.Struct
	// Banks are those of the sessions that it opens, nil for those of the agent.
	Banks []string
	// Cron, in TimeZone ("" = UTC), or Interval, a Go duration, say when it fires: one of them is set.
	Cron, TimeZone, Interval string
	Overlap                  Overlap
	// Paused: time does not fire it.
	Paused bool
}

// Equal reports whether two specs agree in all fields.
func (a ScheduleSpec) Equal(b ScheduleSpec) bool {
	a, b = a.WithDefaults(), b.WithDefaults()
	return a.SameWork(b) && a.DisplayName == b.DisplayName && a.Description == b.Description && a.Cron == b.Cron && a.TimeZone == b.TimeZone &&
		a.Interval == b.Interval && a.Overlap == b.Overlap && a.Paused == b.Paused
}

// WithDefaults returns the spec with what its empty fields stand for.
func (a ScheduleSpec) WithDefaults() ScheduleSpec {
	a.Overlap = cmp.Or(a.Overlap, OverlapSkip)
	if a.Cron != "" {
		a.TimeZone = cmp.Or(a.TimeZone, "UTC")
	}
	return a
}

// SameWork reports whether two specs start the same turns, at whatever times.
func (a ScheduleSpec) SameWork(b ScheduleSpec) bool {
	return a.AgentID == b.AgentID && a.SessionID == b.SessionID && a.Input == b.Input && proto.Equal(a.Params, b.Params) &&
		slices.Equal(a.Banks, b.Banks)
}

// Schedule starts turns by time.
type Schedule struct {
	// Tenant and ID name it; Subject created it.
	Tenant, ID, Subject string
	Spec                ScheduleSpec
	// Principal is the windlass.policy.v1.Principal that its turns run as.
	Principal []byte
	// Deleted: it stays only until Temporal has deleted its own.
	Deleted bool
	// Revision counts changes; Synced is the one that Temporal has.
	Revision, Synced int64
	// NextSync is when Temporal's schedule is next compared with it; Attempts is how often that failed since it last succeeded.
	NextSync time.Time
	Attempts int64
	// LastFire, LastTurnID and LastError are about its last fire.
	LastFire               time.Time
	LastTurnID, LastError  string
	CreateTime, UpdateTime time.Time
}

const scheduleColumns = `tenant, id, subject, data, principal, paused, deleted, revision, synced, check_us, attempts, last_fire_us,
	last_turn_id,
	last_error, create_us, update_us`

func scanSchedule(s sqldb.Scanner) (v Schedule, err error) {
	var paused, deleted, nextSync, lastFire, create, update int64
	var data []byte
	err = s.Scan(&v.Tenant, &v.ID, &v.Subject, &data, &v.Principal, &paused, &deleted, &v.Revision, &v.Synced, &nextSync, &v.Attempts,
		&lastFire, &v.LastTurnID, &v.LastError, &create, &update)
	if err != nil {
		return v, err
	}
	if v.Spec, err = readScheduleSpec(data); err != nil {
		return v, fmt.Errorf("schedule %s: %w", v.ID, err)
	}
	v.Spec.Paused, v.Deleted = paused != 0, deleted != 0
	v.NextSync, v.LastFire, v.CreateTime, v.UpdateTime = sqldb.Time(nextSync), sqldb.Time(lastFire), sqldb.Time(create), sqldb.Time(update)
	return v, nil
}

func readScheduleSpec(data []byte) (ScheduleSpec, error) {
	m := &storev1.StoredSchedule{}
	err := proto.Unmarshal(data, m)
	return ScheduleSpec{
		DisplayName: m.GetDisplayName(), Description: m.GetDescription(), AgentID: m.GetAgentId(), SessionID: m.GetSessionId(),
		Input: m.GetInput(), Params: m.GetParams(), Banks: m.GetBanks(), Cron: m.GetCron(), TimeZone: m.GetTimeZone(), Interval: m.GetInterval(),
		Overlap: Overlap(m.GetOverlap()),
	}, err
}

func (a ScheduleSpec) marshal() ([]byte, error) {
	return proto.Marshal(&storev1.StoredSchedule{
		DisplayName: a.DisplayName, Description: a.Description, AgentId: a.AgentID, SessionId: a.SessionID, Input: a.Input,
		Params: a.Params, Banks: a.Banks, Cron: a.Cron, TimeZone: a.TimeZone, Interval: a.Interval, Overlap: string(a.Overlap),
	})
}

const selectSchedule = "SELECT " + scheduleColumns + " FROM schedules WHERE tenant = $1 AND id = $2"

// Schedule reads one, also a deleted one that Temporal still has. ErrNotFound when there is none.
func (s *Reader) Schedule(ctx context.Context, tenant, id string) (Schedule, error) {
	return rows.One(ctx, s.DB.Reader(), scanSchedule, selectSchedule, tenant, id)
}

// Schedules lists schedules that are not deleted by id, after the given one; of one subject where it is named.
func (s *Reader) Schedules(ctx context.Context, tenant, subject, after string, limit int) ([]Schedule, error) {
	return rows.All(ctx, s.DB.Reader(), scanSchedule, "SELECT "+scheduleColumns+` FROM schedules WHERE tenant = $1 AND id > $2 AND deleted = 0
		AND ($3 = '' OR subject = $3) ORDER BY id LIMIT $4`, tenant, after, subject, limit)
}

// CountSchedules counts a tenant's schedules, and those of one subject; deleted ones do not count.
func (tx *Tx) CountSchedules(ctx context.Context, tenant, subject string) (count, own int, err error) {
	type counts struct{ all, own int }
	n, err := sqldb.One(ctx, tx, func(s sqldb.Scanner) (n counts, err error) {
		err = s.Scan(&n.all, &n.own)
		return n, err
	}, "SELECT count(*), COALESCE(SUM(CASE WHEN subject = $2 THEN 1 ELSE 0 END), 0) FROM schedules WHERE tenant = $1 AND deleted = 0", tenant,
		subject)
	return n.all, n.own, err
}

// LockSchedule reads one and keeps others from changing it or its fires until the transaction ends. ErrNotFound when there is none.
func (tx *Tx) LockSchedule(ctx context.Context, tenant, id string) (Schedule, error) {
	return sqldb.One(ctx, tx, scanSchedule, selectSchedule+tx.DB.ForUpdate(), tenant, id)
}

var insertSchedules = sqldb.Insert("schedules", scheduleColumns)

// AddSchedule stores a new schedule. ErrExists when there is one with its id, perhaps deleted.
func (tx *Tx) AddSchedule(ctx context.Context, v Schedule) error {
	data, err := v.Spec.marshal()
	if err != nil {
		return fmt.Errorf("schedule %s: %w", v.ID, err)
	}
	_, err = sqldb.Exec(ctx, tx, insertSchedules,
		v.Tenant, v.ID, v.Subject, rows.Blob(data), rows.Blob(v.Principal), rows.Flag(v.Spec.Paused), rows.Flag(v.Deleted), v.Revision, v.Synced,
		sqldb.Micros(v.NextSync),
		v.Attempts, sqldb.Micros(v.LastFire), v.LastTurnID, v.LastError, sqldb.Micros(v.CreateTime), sqldb.Micros(v.UpdateTime))
	return rows.Unique(err)
}

// SaveSchedule writes all of a locked schedule except Synced and Attempts, which SetSynced and SetUnsynced write.
func (tx *Tx) SaveSchedule(ctx context.Context, v Schedule) error {
	data, err := v.Spec.marshal()
	if err != nil {
		return fmt.Errorf("schedule %s: %w", v.ID, err)
	}
	return sqldb.ExecOne(ctx, tx, `UPDATE schedules SET subject = $3, data = $4, principal = $5, paused = $6, deleted = $7, revision = $8,
		check_us = $9,
		last_fire_us = $10, last_turn_id = $11, last_error = $12, create_us = $13, update_us = $14 WHERE tenant = $1 AND id = $2`,
		v.Tenant, v.ID, v.Subject, rows.Blob(data), rows.Blob(v.Principal), rows.Flag(v.Spec.Paused), rows.Flag(v.Deleted), v.Revision,
		sqldb.Micros(v.NextSync),
		sqldb.Micros(v.LastFire), v.LastTurnID, v.LastError, sqldb.Micros(v.CreateTime), sqldb.Micros(v.UpdateTime))
}

// DueSchedules lists schedules whose NextSync has come, those due longest first.
func (s *Reader) DueSchedules(ctx context.Context, now time.Time, limit int) ([]Schedule, error) {
	return rows.All(ctx, s.DB.Reader(), scanSchedule,
		"SELECT "+scheduleColumns+" FROM schedules WHERE check_us <= $1 ORDER BY check_us LIMIT $2",
		sqldb.Micros(now), limit)
}

// ClaimSchedule postpones NextSync of a due schedule, so that no other replica syncs it meanwhile. False when it was changed or
// claimed since it was read.
func (tx *Tx) ClaimSchedule(ctx context.Context, v Schedule, until time.Time) (bool, error) {
	n, err := sqldb.Exec(ctx, tx, "UPDATE schedules SET check_us = $5 WHERE tenant = $1 AND id = $2 AND revision = $3 AND check_us = $4",
		v.Tenant, v.ID, v.Revision, sqldb.Micros(v.NextSync), sqldb.Micros(until))
	return n == 1, err
}

// SetSynced records the revision that Temporal has and when it is compared next. A schedule that was changed meanwhile stays due.
func (tx *Tx) SetSynced(ctx context.Context, v Schedule, next time.Time) error {
	_, err := sqldb.Exec(ctx, tx, `UPDATE schedules SET synced = $3, attempts = 0, check_us = CASE WHEN revision = $3 THEN $4 ELSE check_us END
		WHERE tenant = $1 AND id = $2`, v.Tenant, v.ID, v.Revision, sqldb.Micros(next))
	return err
}

// SetUnsynced records a failed attempt to sync, and when to try again.
func (tx *Tx) SetUnsynced(ctx context.Context, v Schedule, next time.Time) error {
	_, err := sqldb.Exec(ctx, tx,
		"UPDATE schedules SET attempts = attempts + 1, check_us = $4 WHERE tenant = $1 AND id = $2 AND revision = $3",
		v.Tenant, v.ID, v.Revision, sqldb.Micros(next))
	return err
}

// RemoveSchedule removes a deleted schedule with its fires, unless it was created again.
func (tx *Tx) RemoveSchedule(ctx context.Context, v Schedule) error {
	n, err := sqldb.Exec(ctx, tx, "DELETE FROM schedules WHERE tenant = $1 AND id = $2 AND revision = $3 AND deleted = 1", v.Tenant, v.ID,
		v.Revision)
	if err != nil || n == 0 {
		return err
	}
	return tx.DeleteFires(ctx, v.Tenant, v.ID)
}
