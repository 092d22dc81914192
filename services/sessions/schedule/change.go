package schedule

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/fault"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	"github.com/windlass-dev/windlass/services/sessions/store"
	"github.com/windlass-dev/windlass/services/sessions/store/scheduledb"
)

// Update changes a schedule that the caller may see. A revision other than 0 must be the current one. change sets fields of the
// current spec.
func (s *Service) Update(ctx context.Context, id string, revision int64, change func(*scheduledb.ScheduleSpec) error) (scheduledb.Schedule,
	error,
) {
	v, _, err := s.Get(ctx, id, 0)
	if err != nil {
		return v, err
	}
	if revision != 0 && revision != v.Revision {
		return v, fault.Conflict("schedule %q is at revision %d, not %d", v.ID, v.Revision, revision)
	}
	spec := v.Spec
	if err := change(&spec); err != nil || spec.Equal(v.Spec) {
		return v, err
	}
	if err := s.Revise(ctx, v, &spec, s.deps.Turns.CheckAgent); err != nil {
		return v, err
	}
	return s.save(ctx, v, spec)
}

// Revise validates a spec as the successor of that of v.
func (s *Service) Revise(ctx context.Context, v scheduledb.Schedule, spec *scheduledb.ScheduleSpec, check AgentCheck) error {
	if spec.SameWork(v.Spec) { // its work was validated when it was set, perhaps by a caller who may see more
		return invalid(s.checkTimes(*spec))
	}
	if authn.From(ctx).GetSubject() != v.Subject {
		return fault.FailedPrecondition(faultv1.Reason_REASON_FAILED_PRECONDITION,
			"only %q, who created the schedule, may change its agent, session, input, params or banks: its turns run as that user", v.Subject).
			Hint("Create a schedule of your own.")
	}
	return s.validate(ctx, spec, check)
}

// SetPaused pauses or resumes a schedule that the caller may see.
func (s *Service) SetPaused(ctx context.Context, id string, paused bool) (scheduledb.Schedule, error) {
	v, _, err := s.Get(ctx, id, 0)
	if err != nil || v.Spec.Paused == paused {
		return v, err
	}
	spec := v.Spec
	spec.Paused = paused
	return s.save(ctx, v, spec)
}

func (s *Service) save(ctx context.Context, seen scheduledb.Schedule, spec scheduledb.ScheduleSpec) (v scheduledb.Schedule, err error) {
	err = s.deps.Store.Write(ctx, func(tx *store.Tx) (err error) {
		v, err = s.Save(ctx, tx, seen, spec)
		return err
	})
	if err == nil {
		s.Changed()
	}
	return v, err
}

// Save stores a spec that Revise accepted for v, unless the schedule has changed since v was read. Call Changed after the transaction.
func (s *Service) Save(ctx context.Context, tx *store.Tx, seen scheduledb.Schedule, spec scheduledb.ScheduleSpec) (scheduledb.Schedule,
	error,
) {
	v, err := tx.LockSchedule(ctx, seen.Tenant, seen.ID)
	if errors.Is(err, store.ErrNotFound) {
		return v, errNotFound(seen.ID)
	}
	if err != nil {
		return v, err
	}
	if v.Revision != seen.Revision {
		return v, fault.Conflict("schedule %q was changed meanwhile", seen.ID).Hint("Read it again, then send the change.")
	}
	v.Spec = spec
	if err := runAs(ctx, &v); err != nil {
		return v, fmt.Errorf("principal: %w", err)
	}
	v.Revision++
	v.NextSync, v.UpdateTime = time.Time{}, s.deps.Store.Now()
	return v, tx.SaveSchedule(ctx, v)
}

// Delete deletes a schedule that the caller may see. Turns that it started continue.
func (s *Service) Delete(ctx context.Context, id string) error {
	seen, _, err := s.Get(ctx, id, 0)
	if err != nil {
		return err
	}
	err = s.deps.Store.Write(ctx, func(tx *store.Tx) error {
		v, err := tx.LockSchedule(ctx, seen.Tenant, seen.ID)
		if err != nil || v.Deleted {
			return err
		}
		v.Deleted, v.NextSync, v.Revision = true, time.Time{}, v.Revision+1
		if err := tx.DeleteFires(ctx, v.Tenant, v.ID); err != nil {
			return err
		}
		return tx.SaveSchedule(ctx, v)
	})
	if errors.Is(err, store.ErrNotFound) {
		err = errNotFound(seen.ID)
	}
	if err == nil {
		s.Changed()
	}
	return err
}
