package schedule

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/ids"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	"github.com/windlass-dev/windlass/services/sessions/store"
	"github.com/windlass-dev/windlass/services/sessions/store/scheduledb"
)

// Create stores a new schedule of the caller. An empty id is generated.
func (s *Service) Create(ctx context.Context, id string, spec scheduledb.ScheduleSpec) (scheduledb.Schedule, error) {
	v, err := s.New(ctx, cmp.Or(id, ids.New(ids.Schedule)), spec, s.deps.Turns.CheckAgent)
	if err != nil {
		return v, err
	}
	err = s.deps.Store.Write(ctx, func(tx *store.Tx) (err error) {
		v, err = s.Add(ctx, tx, v)
		return err
	})
	if err == nil {
		s.Changed()
	}
	return v, err
}

// New prepares a schedule of the caller. Its agent is found by check.
func (s *Service) New(ctx context.Context, id string, spec scheduledb.ScheduleSpec, check AgentCheck) (scheduledb.Schedule, error) {
	if err := s.validate(ctx, &spec, check); err != nil {
		return scheduledb.Schedule{}, err
	}
	now := s.deps.Store.Now()
	v := scheduledb.Schedule{
		Tenant: authn.Tenant(ctx), ID: id, Subject: authn.From(ctx).GetSubject(), Spec: spec, Revision: 1, CreateTime: now, UpdateTime: now,
	}
	if err := runAs(ctx, &v); err != nil {
		return v, fmt.Errorf("principal: %w", err)
	}
	return v, nil
}

// Add stores a schedule prepared by New, within the quotas, and returns it as it is stored. Call Changed after the transaction.
func (s *Service) Add(ctx context.Context, tx *store.Tx, v scheduledb.Schedule) (scheduledb.Schedule, error) {
	old, err := tx.LockSchedule(ctx, v.Tenant, v.ID)
	missing := errors.Is(err, store.ErrNotFound)
	if err != nil && !missing {
		return v, err
	}
	if !missing && !old.Deleted {
		return v, errExists(v.ID)
	}
	if err := s.checkQuota(ctx, tx, v); err != nil {
		return v, err
	}
	if missing {
		if err = tx.AddSchedule(ctx, v); errors.Is(err, store.ErrExists) {
			err = errExists(v.ID)
		}
		return v, err
	}
	v.Revision = old.Revision + 1 // Temporal was to delete its schedule; now it is to have the new one
	if err := tx.DeleteFires(ctx, v.Tenant, v.ID); err != nil {
		return v, err
	}
	return v, tx.SaveSchedule(ctx, v)
}

func (s *Service) checkQuota(ctx context.Context, tx *store.Tx, v scheduledb.Schedule) error {
	count, own, err := tx.CountSchedules(ctx, v.Tenant, v.Subject)
	switch {
	case err != nil:
		return err
	case own >= s.cfg.MaxPerUser:
		return fault.FailedPrecondition(faultv1.Reason_REASON_LIMIT_REACHED, "%q has %d schedules, as many as one user may have", v.Subject, own).
			Hint("Delete one, or raise sessions.schedules.max_per_user.")
	case count >= s.cfg.MaxSchedules:
		return fault.FailedPrecondition(faultv1.Reason_REASON_LIMIT_REACHED, "there are %d schedules, as many as there may be", count).
			Hint("Delete one, or raise sessions.schedules.max_schedules.")
	}
	return nil
}
