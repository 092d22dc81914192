package sessions

import (
	"context"
	"fmt"
	"time"

	"github.com/windlass-dev/windlass/libs/cron"
	"github.com/windlass-dev/windlass/services/sessions/store"
	"github.com/windlass-dev/windlass/services/sessions/sweep"
)

// clock wakes who keeps Temporal's schedules like ours.
type clock struct{ wake chan struct{} }

func newClock() clock { return clock{wake: make(chan struct{}, 1)} }

// kick has changed schedules told to Temporal soon.
func (c clock) kick() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// maxSyncPause bounds the pause between two tries to tell Temporal of a schedule.
const maxSyncPause = 30 * time.Second

// keepSchedules makes Temporal's schedules what the rows say until ctx ends.
func (s *Service) keepSchedules(ctx context.Context) {
	s.eachLook(ctx, s.clock.wake, func(ctx context.Context) {
		if err := s.syncSchedules(ctx); err != nil && ctx.Err() == nil {
			s.log.ErrorContext(ctx, "schedules cannot be told to Temporal", "error", err)
		}
	})
}

// keepFires goes on with fires that are not settled until ctx ends.
func (s *Service) keepFires(ctx context.Context) {
	s.eachLook(ctx, nil, func(ctx context.Context) {
		if err := s.runFires(ctx); err != nil && ctx.Err() == nil {
			s.log.ErrorContext(ctx, "fires of schedules cannot be looked at", "error", err)
		}
	})
}

// eachLook calls look at each interval, and when it is woken.
func (s *Service) eachLook(ctx context.Context, wake <-chan struct{}, look func(context.Context)) {
	tick := time.NewTicker(s.cfg.SweepInterval)
	defer tick.Stop()
	for ctx.Err() == nil {
		look(ctx)
		select {
		case <-wake:
		case <-tick.C:
		case <-ctx.Done():
		}
	}
}

// syncSchedules tells Temporal of schedules that were changed, and asks after the others when their time has come.
func (s *Service) syncSchedules(ctx context.Context) error {
	return sweep.Due(ctx, dueNow(s.store, s.store.DueSchedules), s.syncSchedule)
}

// syncSchedule tells Temporal of one schedule. Who finds it first has it to itself for a while.
func (s *Service) syncSchedule(ctx context.Context, row store.Schedule) error {
	taken := false
	err := s.store.Write(ctx, func(tx *store.Tx) (err error) {
		taken, err = tx.TakeSchedule(ctx, row, s.store.NowUs()+takenFor.Microseconds())
		return err
	})
	if err != nil || !taken {
		return err
	}
	telling, cancel := context.WithTimeout(ctx, startTimeout)
	cause := s.tellTemporal(telling, row)
	cancel()
	if err := s.noteSync(context.WithoutCancel(ctx), row, cause); err != nil {
		return err
	}
	if cause != nil && ctx.Err() == nil {
		s.log.WarnContext(ctx, "a schedule cannot be told to Temporal yet", "schedule_id", row.ID, "attempt", row.Attempts+1, "error", cause)
	}
	return nil
}

func (s *Service) tellTemporal(ctx context.Context, row store.Schedule) error {
	if row.Deleted {
		return s.outbox.dispatcher.DropSchedule(ctx, row.Tenant, row.ID)
	}
	t, err := s.timetable(row)
	if err != nil {
		return err
	}
	return s.outbox.dispatcher.PutSchedule(ctx, t)
}

func (s *Service) timetable(row store.Schedule) (Timetable, error) {
	v, err := scheduleOf(row)
	if err != nil {
		return Timetable{}, err
	}
	t := Timetable{
		Tenant: row.Tenant, ScheduleID: row.ID, Revision: row.Revision, Paused: row.Paused, CatchUp: s.cfg.Schedules.CatchUp, Zone: v.GetTimeZone(),
		Summary: row.ID + ": " + firstWords(v.GetInput(), 78-len(row.ID)),
	}
	if v.GetInterval() != "" {
		t.Every, err = time.ParseDuration(v.GetInterval())
		return t, err //nolint:wrapcheck // it was checked when it came
	}
	spec, err := cron.Parse(v.GetCron())
	if err != nil {
		return t, fmt.Errorf("cron of schedule %s: %w", row.ID, err)
	}
	t.Calendars = spec.Calendars()
	return t, nil
}

// noteSync writes down whether Temporal knows a schedule now.
func (s *Service) noteSync(ctx context.Context, row store.Schedule, told error) error {
	return s.store.Write(ctx, func(tx *store.Tx) error {
		now := s.store.NowUs()
		switch {
		case told != nil:
			pause := min(sweep.Backoff(row.Attempts+1), maxSyncPause)
			return tx.SetUnsynced(ctx, row, now+pause.Microseconds())
		case row.Deleted:
			return tx.ForgetSchedule(ctx, row)
		}
		return tx.SetSynced(ctx, row, now+s.cfg.Schedules.CheckInterval.Microseconds())
	})
}
