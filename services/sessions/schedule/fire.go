package sessions

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/ids"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	"github.com/windlass-dev/windlass/services/sessions/store"
	"github.com/windlass-dev/windlass/services/sessions/sweep"
)

// What became of a fire.
const (
	fireStarting = "starting"
	fireStarted  = "started"
	fireQueued   = "queued"
	fireSkipped  = "skipped"
	fireMissed   = "missed"
	fireFailed   = "failed"
	fireGone     = "gone"
)

const (
	// startingFor is how long a fire that is being begun is left alone by others.
	startingFor = 30 * time.Second
	// retryFire is the pause before a turn that could not begin for a passing reason is tried again.
	retryFire = 2 * time.Second
	// lookAtQueued is how often it is looked whether a queued fire may begin.
	lookAtQueued = time.Second
)

// FireSchedule implements ExecutionService. What was written down is gone on with by the sweeper, so that a passing trouble is no error here.
func (s *Service) FireSchedule(ctx context.Context, req *sessionsv1.FireScheduleRequest) (*sessionsv1.FireScheduleResponse, error) {
	f := store.Fire{
		Tenant: req.GetTenant(), ScheduleID: req.GetScheduleId(), DueUs: req.GetDueMicros(),
		Key: time.UnixMicro(req.GetDueMicros()).UTC().Format(time.RFC3339),
	}
	d, err := s.settleFire(ctx, f)
	if errors.Is(err, store.ErrNotFound) {
		s.forgetTime(ctx, f)
		return &sessionsv1.FireScheduleResponse{Outcome: fireGone}, nil
	}
	if err != nil {
		return nil, err
	}
	f = s.goOn(ctx, d)
	return &sessionsv1.FireScheduleResponse{Outcome: f.Outcome, TurnId: f.TurnID}, nil
}

// goOn begins the turn of a fire if it is ours to begin.
func (s *Service) goOn(ctx context.Context, d settled) store.Fire {
	if !d.begin {
		return d.fire
	}
	f, err := s.beginFire(ctx, d.schedule, d.fire)
	if err != nil {
		s.log.WarnContext(ctx, "a schedule began no turn", "schedule_id", f.ScheduleID, "outcome", f.Outcome, "error", err)
	}
	return f
}

// forgetTime has Temporal forget a schedule that fired and that nobody knows here.
func (s *Service) forgetTime(ctx context.Context, f store.Fire) {
	if _, err := s.store.Schedule(ctx, f.Tenant, f.ScheduleID); !errors.Is(err, store.ErrNotFound) {
		return // a deleted one is being forgotten already
	}
	if err := s.outbox.dispatcher.DropSchedule(ctx, f.Tenant, f.ScheduleID); err != nil {
		s.log.WarnContext(ctx, "a schedule that is gone cannot be removed from Temporal", "schedule_id", f.ScheduleID, "error", err)
	}
}

// RunSchedule implements ScheduleService.
func (s *Service) RunSchedule(ctx context.Context, req *sessionsv1.RunScheduleRequest) (*sessionsv1.ScheduleFire, error) {
	seen, err := s.schedule(ctx, req.GetScheduleId())
	if err != nil {
		return nil, err
	}
	f := store.Fire{Tenant: seen.Tenant, ScheduleID: seen.ID, Manual: true, DueUs: s.store.NowUs(), Key: "run-" + ids.New(ids.Event)}
	if key := req.GetIdempotencyKey(); key != "" {
		sum := sha256.Sum256([]byte(authn.From(ctx).GetSubject() + "\x00" + key))
		f.Key = "run-" + hex.EncodeToString(sum[:])
	}
	d, err := s.settleFire(ctx, f)
	if errors.Is(err, store.ErrNotFound) {
		err = noSchedule(seen.ID)
	}
	// Each of several equal requests begins the turn: it is made once, and all of them are answered with it.
	if f = d.fire; err == nil && f.Outcome == fireStarting {
		f, err = s.beginFire(ctx, d.schedule, f)
	}
	if err != nil {
		return nil, err
	}
	if f.Outcome == fireFailed { // the same request before
		return nil, fault.FailedPrecondition(faultv1.Reason_REASON_FAILED_PRECONDITION, "%s", f.Error)
	}
	return fireToProto(f), nil
}

// settled is a fire that is written down.
type settled struct {
	schedule store.Schedule
	fire     store.Fire
	// begin: its turn is to be begun, by who settled it.
	begin bool
}

// settleFire writes a fire down, once, and decides what shall become of it. ErrNotFound when the schedule is gone, or is paused and the clock fired it.
func (s *Service) settleFire(ctx context.Context, want store.Fire) (settled, error) {
	var d settled
	err := s.store.Write(ctx, func(tx *store.Tx) (err error) {
		d = settled{}
		if d.schedule, err = tx.LockSchedule(ctx, want.Tenant, want.ScheduleID); err != nil {
			return err
		}
		if d.schedule.Deleted {
			return store.ErrNotFound
		}
		now := s.store.NowUs()
		d.fire, err = tx.Fire(ctx, want.Tenant, want.ScheduleID, want.Key)
		fresh := errors.Is(err, store.ErrNotFound)
		switch {
		case fresh && d.schedule.Paused && !want.Manual:
			return err
		case fresh:
			d.fire = want
			d.fire.CreateUs = now
		case err != nil:
			return err
		case !d.fire.Pending, d.fire.LookUs > now: // settled, or somebody is at it
			return nil
		}
		if err := s.decideFire(ctx, tx, d.schedule, &d.fire, now); err != nil {
			return err
		}
		d.begin = d.fire.Outcome == fireStarting
		if err := tx.PutFire(ctx, d.fire); err != nil || !fresh {
			return err
		}
		d.schedule.LastFireUs = now
		if err := tx.SaveSchedule(ctx, d.schedule); err != nil {
			return err
		}
		return tx.TrimFires(ctx, want.Tenant, want.ScheduleID, recentFires)
	})
	return d, err
}

// decideFire sets what shall become of a pending fire of a locked schedule.
func (s *Service) decideFire(ctx context.Context, tx *store.Tx, row store.Schedule, f *store.Fire, now int64) error {
	v, err := scheduleOf(row)
	if err != nil {
		return err
	}
	d := firing{
		policy: v.GetOverlap(), inSession: v.GetSessionId() != "", outcome: f.Outcome, paused: row.Paused && !f.Manual,
		catchUp: s.cfg.Schedules.CatchUp,
	}
	if !f.Manual && f.Outcome == "" {
		d.late = time.Duration(now-f.DueUs) * time.Microsecond
		if d.madeUp, err = tx.FiredSince(ctx, f.Tenant, f.ScheduleID, f.Key, f.DueUs); err != nil {
			return err
		}
	}
	if d.running, err = tx.RunningFires(ctx, f.Tenant, f.ScheduleID); err != nil {
		return err
	}
	pending, err := tx.PendingFiresOf(ctx, f.Tenant, f.ScheduleID)
	if err != nil {
		return err
	}
	for _, other := range pending {
		switch {
		case other.Key == f.Key:
		case other.Outcome == fireStarting:
			d.running++
		case f.Outcome == "" || other.CreateUs < f.CreateUs:
			d.ahead++
		}
	}
	f.Outcome, f.Error = d.decide()
	f.Pending = f.Outcome == fireStarting || f.Outcome == fireQueued
	f.LookUs = now + lookAtQueued.Microseconds()
	if f.Outcome == fireStarting {
		f.LookUs = now + startingFor.Microseconds()
	}
	return nil
}

// beginFire begins the turn of a fire, and writes down what came of it. Its error says why there is no turn; a lasting one ends the fire.
func (s *Service) beginFire(ctx context.Context, row store.Schedule, f store.Fire) (store.Fire, error) {
	turn, cause := s.scheduledTurn(ctx, row, f)
	after := context.WithoutCancel(ctx) // what was begun must be noted, also on the way out
	err := s.store.Write(after, func(tx *store.Tx) error {
		now, err := tx.LockSchedule(after, row.Tenant, row.ID)
		if err != nil || now.Deleted || now.CreateUs != row.CreateUs {
			return ignoreMissing(err)
		}
		us := s.store.NowUs()
		switch {
		case cause == nil:
			f.Outcome, f.Pending, f.TurnID, f.SessionID = fireStarted, false, turn.GetId(), turn.GetSessionId()
			now.LastTurnID, now.LastError = f.TurnID, ""
		case lasting(cause) || us-f.CreateUs > s.cfg.Schedules.CatchUp.Microseconds():
			f.Outcome, f.Pending, f.Error = fireFailed, false, fault.From(cause).Text()
			now.LastError = f.Error
		default:
			f.LookUs = us + retryFire.Microseconds()
			now.LastError = fault.From(cause).Text()
		}
		if err := tx.PutFire(after, f); err != nil {
			return err
		}
		return tx.SaveSchedule(after, now)
	})
	if cause == nil {
		return f, err // the turn is there; the fire is looked at again, and finds it
	}
	return f, cause
}

func ignoreMissing(err error) error {
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	return err
}

// lasting tells whether trying again would not help.
func lasting(err error) bool {
	switch fault.From(err).Code {
	case codes.InvalidArgument, codes.NotFound, codes.FailedPrecondition, codes.PermissionDenied, codes.ResourceExhausted, codes.AlreadyExists:
		return true
	}
	return false
}

// runFires goes on with fires that wait, or whose beginner is gone.
func (s *Service) runFires(ctx context.Context) error {
	return sweep.Due(ctx, dueNow(s.store, s.store.PendingFires), s.runFire)
}

// runFire goes on with one fire, or has it looked at again later.
func (s *Service) runFire(ctx context.Context, f store.Fire) error {
	d, cause := s.settleFire(ctx, f)
	if cause == nil {
		s.goOn(ctx, d)
		return nil
	}
	if ctx.Err() != nil {
		return cause
	}
	if !errors.Is(cause, store.ErrNotFound) {
		s.log.WarnContext(ctx, "a fire of a schedule cannot be settled yet", "schedule_id", f.ScheduleID, "error", cause)
	}
	return s.store.Write(ctx, func(tx *store.Tx) error { return tx.PostponeFire(ctx, f, s.store.NowUs()+retryFire.Microseconds()) })
}
