package schedule

import (
	"context"
	"errors"
	"fmt"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"

	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/fault"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	policyv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policy/v1"
	"github.com/windlass-dev/windlass/services/sessions/access"
	"github.com/windlass-dev/windlass/services/sessions/store"
	"github.com/windlass-dev/windlass/services/sessions/store/scheduledb"
)

// start starts the turn of a fire and stores the outcome. Its error is why there is no turn; a permanent one fails the fire.
func (s *firer) start(ctx context.Context, v scheduledb.Schedule, f scheduledb.Fire) (scheduledb.Fire, error) {
	turn, session, cause := s.startTurn(ctx, v, f)
	after := context.WithoutCancel(ctx) // what was started must be recorded, also while the process stops
	err := s.deps.Store.Write(after, func(tx *store.Tx) error {
		row, err := tx.LockSchedule(after, v.Tenant, v.ID)
		switch {
		case errors.Is(err, store.ErrNotFound), err == nil && (row.Deleted || !row.CreateTime.Equal(v.CreateTime)):
			return nil
		case err != nil:
			return err
		}
		now := s.deps.Store.Now()
		switch {
		case cause == nil:
			f.Outcome, f.TurnID, f.SessionID = scheduledb.FireStarted, turn, session
			row.LastTurnID, row.LastError = f.TurnID, ""
		case fault.Refused(cause) || now.Sub(f.CreateTime) > s.cfg.CatchUp:
			f.Outcome, f.Error = scheduledb.FireFailed, fault.From(cause).Text()
			row.LastError = f.Error
		default:
			f.NextAttempt = now.Add(startRetry)
			row.LastError = fault.From(cause).Text()
		}
		if err := tx.PutFire(after, f); err != nil {
			return err
		}
		return tx.SaveSchedule(after, row)
	})
	if cause == nil {
		return f, err // the turn exists; a retry of the fire finds it
	}
	return f, cause
}

// startTurn starts the turn of a fire as the principal of the schedule.
func (s *firer) startTurn(ctx context.Context, v scheduledb.Schedule, f scheduledb.Fire) (turnID, sessionID string, err error) {
	p := &policyv1.Principal{}
	if err := proto.Unmarshal(v.Principal, p); err != nil {
		return "", "", fmt.Errorf("principal of schedule %s: %w", v.ID, err)
	}
	return s.deps.Turns.Start(authn.With(ctx, p), Turn{
		// The time of creation distinguishes a schedule from an earlier one with the same id.
		Key: fmt.Sprintf("%s/%d/%s", v.ID, v.CreateTime.UnixMicro(), f.Key), ScheduleID: v.ID, Spec: v.Spec,
		Allowed: func(ctx context.Context) error { return s.checkAllowed(ctx, p, v.Spec) },
	})
}

// checkAllowed asks policy whether a principal may do now what a schedule does for them.
func (s *firer) checkAllowed(ctx context.Context, p *policyv1.Principal, spec scheduledb.ScheduleSpec) error {
	has, err := access.Permissions(ctx, s.deps.Policy, p)
	if err != nil {
		return err
	}
	needed := []string{"sessions.turns.create"}
	if spec.SessionID == "" {
		needed = append(needed, "sessions.sessions.create")
	}
	for _, permission := range needed {
		if v := has.Decide(permission); !v.Allowed {
			why := "any more"
			if v.DeniedBy != "" {
				why = fmt.Sprintf("any more: the rule %q denies it", v.DeniedBy)
			}
			return fault.New(codes.PermissionDenied, faultv1.Reason_REASON_PERMISSION_DENIED,
				"%q, for whom the schedule runs, does not hold the permission %s %s", p.GetSubject(), permission, why)
		}
	}
	return nil
}
