package schedule

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"time"

	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/ids"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	"github.com/windlass-dev/windlass/services/sessions/store"
	"github.com/windlass-dev/windlass/services/sessions/store/scheduledb"
	"github.com/windlass-dev/windlass/services/sessions/sweep"
)

const (
	// startTimeout is how long one replica has to start the turn of a fire before another one may.
	startTimeout = 30 * time.Second
	// startRetry is the pause after a turn could not be started for a passing reason.
	startRetry = 2 * time.Second
	// queuePoll is how often a queued fire is looked at.
	queuePoll = time.Second
)

// errNoTime means that a schedule does not fire at a time.
var errNoTime = errors.New("the schedule has no such time")

// Fire fires a schedule of any tenant for one of its times. Once the fire is stored the sweep continues it, so a passing
// failure is no error. The outcome is FireGone if the schedule is deleted or paused, or has no such time.
func (s *Service) Fire(ctx context.Context, tenant, id string, due time.Time) (scheduledb.Fire, error) {
	f := scheduledb.Fire{Tenant: tenant, ScheduleID: id, Due: due, Key: due.UTC().Format(time.RFC3339)}
	d, err := s.firer.settle(ctx, f)
	if errors.Is(err, errNoTime) {
		s.deps.Log.WarnContext(ctx, "a schedule was fired at a time that is none of its own", "schedule_id", id, "due", due)
		f.Outcome = scheduledb.FireGone
		return f, nil
	}
	if errors.Is(err, store.ErrNotFound) {
		s.firer.dropUnknown(ctx, f)
		f.Outcome = scheduledb.FireGone
		return f, nil
	}
	if err != nil {
		return f, err
	}
	return s.firer.resume(ctx, d), nil
}

// FireNow fires a schedule of the caller at once. The same idempotency key again returns the same fire.
func (s *Service) FireNow(ctx context.Context, id, idempotencyKey string) (scheduledb.Fire, error) {
	seen, _, err := s.Get(ctx, id, 0)
	if err != nil {
		return scheduledb.Fire{}, err
	}
	f := scheduledb.Fire{Tenant: seen.Tenant, ScheduleID: seen.ID, Manual: true, Due: s.deps.Store.Now(), Key: "run-" + ids.New(ids.Event)}
	if idempotencyKey != "" {
		sum := sha256.Sum256([]byte(authn.From(ctx).GetSubject() + "\x00" + idempotencyKey))
		f.Key = "run-" + hex.EncodeToString(sum[:])
	}
	d, err := s.firer.settle(ctx, f)
	if errors.Is(err, store.ErrNotFound) {
		err = errNotFound(seen.ID)
	}
	// Each of several equal requests starts the turn: it is created once, and all of them are answered with it.
	if f = d.fire; err == nil && f.Outcome == scheduledb.FireStarting {
		f, err = s.firer.start(ctx, d.schedule, f)
	}
	if err != nil {
		return f, err
	}
	if f.Outcome == scheduledb.FireFailed { // of the same request before
		return f, fault.FailedPrecondition(faultv1.Reason_REASON_FAILED_PRECONDITION, "%s", f.Error)
	}
	return f, nil
}

// dropUnknown has Temporal delete a schedule that fired and of which there is no row.
func (s *firer) dropUnknown(ctx context.Context, f scheduledb.Fire) {
	if _, err := s.deps.Store.Schedule(ctx, f.Tenant, f.ScheduleID); !errors.Is(err, store.ErrNotFound) {
		return // a deleted one is dropped by the sync
	}
	if err := s.deps.Calendars.DropSchedule(ctx, f.Tenant, f.ScheduleID); err != nil {
		s.deps.Log.WarnContext(ctx, "a schedule that is gone cannot be removed from Temporal", "schedule_id", f.ScheduleID, "error", err)
	}
}

// settled is a fire that is stored.
type settled struct {
	schedule scheduledb.Schedule
	fire     scheduledb.Fire
	// start: the caller of settle is to start its turn.
	start bool
}

// settle stores a fire, once, and decides its outcome. ErrNotFound when the schedule is gone, or is paused and time fired it.
func (s *firer) settle(ctx context.Context, want scheduledb.Fire) (settled, error) {
	var d settled
	err := s.deps.Store.Write(ctx, func(tx *store.Tx) (err error) {
		d = settled{}
		if d.schedule, err = tx.LockSchedule(ctx, want.Tenant, want.ScheduleID); err != nil {
			return err
		}
		if d.schedule.Deleted {
			return store.ErrNotFound
		}
		now := s.deps.Store.Now()
		d.fire, err = tx.Fire(ctx, want.Tenant, want.ScheduleID, want.Key)
		created := errors.Is(err, store.ErrNotFound)
		switch {
		case created && d.schedule.Spec.Paused && !want.Manual:
			return err
		case created && !want.Manual && !names(d.schedule.Spec, want.Due):
			return errNoTime
		case created:
			d.fire = want
			d.fire.CreateTime = now
		case err != nil:
			return err
		case !d.fire.Outcome.Pending(), d.fire.NextAttempt.After(now): // settled, or another replica has it
			return nil
		}
		if err := s.decide(ctx, tx, d.schedule, &d.fire, now); err != nil {
			return err
		}
		d.start = d.fire.Outcome == scheduledb.FireStarting
		if err := tx.PutFire(ctx, d.fire); err != nil || !created {
			return err
		}
		d.schedule.LastFire = now
		if err := tx.SaveSchedule(ctx, d.schedule); err != nil {
			return err
		}
		return tx.TrimFires(ctx, want.Tenant, want.ScheduleID, MaxRecent)
	})
	return d, err
}

// decide sets the outcome of a pending fire of a locked schedule.
func (s *firer) decide(ctx context.Context, tx *store.Tx, v scheduledb.Schedule, f *scheduledb.Fire, now time.Time) (err error) {
	d := situation{
		policy: v.Spec.Overlap, inSession: v.Spec.SessionID != "", outcome: f.Outcome, paused: v.Spec.Paused && !f.Manual, catchUp: s.cfg.CatchUp,
	}
	if !f.Manual && f.Outcome == "" {
		d.late = now.Sub(f.Due)
		if d.madeUp, err = tx.FiredSince(ctx, f.Tenant, f.ScheduleID, f.Key, f.Due); err != nil {
			return err
		}
	}
	if d.running, err = tx.RunningFires(ctx, f.Tenant, f.ScheduleID); err != nil {
		return err
	}
	pending, err := tx.PendingFires(ctx, f.Tenant, f.ScheduleID)
	if err != nil {
		return err
	}
	for _, other := range pending {
		switch {
		case other.Key == f.Key:
		case other.Outcome == scheduledb.FireStarting:
			d.running++
		case f.Outcome == "" || other.CreateTime.Before(f.CreateTime):
			d.ahead++
		}
	}
	f.Outcome, f.Error = d.decide()
	f.NextAttempt = now.Add(queuePoll)
	if f.Outcome == scheduledb.FireStarting {
		f.NextAttempt = now.Add(startTimeout)
	}
	return nil
}

// resume starts the turn of a fire if that is up to the caller.
func (s *firer) resume(ctx context.Context, d settled) scheduledb.Fire {
	if !d.start {
		return d.fire
	}
	f, err := s.start(ctx, d.schedule, d.fire)
	if err != nil {
		s.deps.Log.WarnContext(ctx, "a schedule started no turn", "schedule_id", f.ScheduleID, "outcome", f.Outcome, "error", err)
	}
	return f
}

// startDue continues fires that are queued, or whose start was interrupted.
func (s *firer) startDue(ctx context.Context) error {
	due := func(ctx context.Context, limit int) ([]scheduledb.Fire, error) {
		return s.deps.Store.DueFires(ctx, s.deps.Store.Now(), limit)
	}
	return sweep.Due(ctx, due, s.retry)
}

// retry continues one fire, or postpones it.
func (s *firer) retry(ctx context.Context, f scheduledb.Fire) error {
	d, cause := s.settle(ctx, f)
	if cause == nil {
		s.resume(ctx, d)
		return nil
	}
	if ctx.Err() != nil {
		return cause
	}
	if !errors.Is(cause, store.ErrNotFound) {
		s.deps.Log.WarnContext(ctx, "a fire of a schedule cannot be settled yet", "schedule_id", f.ScheduleID, "error", cause)
	}
	return s.deps.Store.Write(ctx, func(tx *store.Tx) error { return tx.PostponeFire(ctx, f, s.deps.Store.Now().Add(startRetry)) })
}
