package schedule

import (
	"context"
	"fmt"
	"time"

	"github.com/windlass-dev/windlass/libs/cron"
	"github.com/windlass-dev/windlass/services/sessions/store"
	"github.com/windlass-dev/windlass/services/sessions/store/scheduledb"
	"github.com/windlass-dev/windlass/services/sessions/sweep"
)

const (
	// syncTimeout bounds one call to Temporal. claimFor is how long a schedule is left to the replica that syncs it; longer than
	// that call may last.
	syncTimeout = 10 * time.Second
	claimFor    = 30 * time.Second
	// maxSyncBackoff bounds the pause between two attempts.
	maxSyncBackoff = 30 * time.Second
)

// syncDue brings Temporal's schedules up to date with rows that were changed, and compares the others with them from time to time.
func (s *syncer) syncDue(ctx context.Context) error {
	due := func(ctx context.Context, limit int) ([]scheduledb.Schedule, error) {
		return s.deps.Store.DueSchedules(ctx, s.deps.Store.Now(), limit)
	}
	return sweep.Due(ctx, due, s.sync)
}

// sync brings Temporal's schedule up to date with one of ours, unless another replica does.
func (s *syncer) sync(ctx context.Context, v scheduledb.Schedule) error {
	claimed := false
	err := s.deps.Store.Write(ctx, func(tx *store.Tx) (err error) {
		claimed, err = tx.ClaimSchedule(ctx, v, s.deps.Store.Now().Add(claimFor))
		return err
	})
	if err != nil || !claimed {
		return err
	}
	calling, cancel := context.WithTimeout(ctx, syncTimeout)
	cause := s.put(calling, v)
	cancel()
	if err := s.recordSync(context.WithoutCancel(ctx), v, cause); err != nil {
		return err
	}
	if cause != nil && ctx.Err() == nil {
		s.deps.Log.WarnContext(ctx, "a schedule cannot be synced with Temporal yet", "schedule_id", v.ID, "attempt", v.Attempts+1, "error", cause)
	}
	return nil
}

func (s *syncer) put(ctx context.Context, v scheduledb.Schedule) error {
	if v.Deleted {
		return s.deps.Calendars.DropSchedule(ctx, v.Tenant, v.ID)
	}
	t, err := timetable(v, s.cfg.CatchUp)
	if err != nil {
		return err
	}
	return s.deps.Calendars.PutSchedule(ctx, t)
}

func timetable(v scheduledb.Schedule, catchUp time.Duration) (Timetable, error) {
	t := Timetable{
		Tenant: v.Tenant, ScheduleID: v.ID, Revision: v.Revision, Paused: v.Spec.Paused, CatchUp: catchUp, Zone: v.Spec.TimeZone,
		AgentID: v.Spec.AgentID,
	}
	if v.Spec.Interval != "" {
		every, err := time.ParseDuration(v.Spec.Interval)
		if err != nil {
			return t, fmt.Errorf("interval of schedule %s: %w", v.ID, err)
		}
		t.Every = every
		return t, nil
	}
	spec, err := cron.Parse(v.Spec.Cron)
	if err != nil {
		return t, fmt.Errorf("cron of schedule %s: %w", v.ID, err)
	}
	t.Calendars = spec.Calendars()
	return t, nil
}

// recordSync stores whether Temporal is up to date now.
func (s *syncer) recordSync(ctx context.Context, v scheduledb.Schedule, cause error) error {
	return s.deps.Store.Write(ctx, func(tx *store.Tx) error {
		now := s.deps.Store.Now()
		switch {
		case cause != nil:
			return tx.SetUnsynced(ctx, v, now.Add(min(sweep.Backoff(v.Attempts+1), maxSyncBackoff)))
		case v.Deleted:
			return tx.RemoveSchedule(ctx, v)
		}
		return tx.SetSynced(ctx, v, now.Add(s.cfg.CheckInterval))
	})
}
