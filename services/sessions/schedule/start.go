package sessions

import (
	"context"
	"fmt"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"

	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/authz"
	"github.com/windlass-dev/windlass/libs/fault"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	policyv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policy/v1"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	"github.com/windlass-dev/windlass/services/sessions/store"
)

// PermissionReader says what a principal may do today.
type PermissionReader interface {
	// GetPermissions answers which permissions a principal holds.
	GetPermissions(ctx context.Context, in *policyv1.GetPermissionsRequest, opts ...grpc.CallOption) (*policyv1.GetPermissionsResponse, error)
}

// scheduleLabel is the label of sessions that schedules open.
const scheduleLabel = "schedule"

// scheduledTurn begins the turn of a fire on behalf of who made the schedule. The same fire again gives the same turn.
func (s *Service) scheduledTurn(ctx context.Context, row store.Schedule, f store.Fire) (*sessionsv1.Turn, error) {
	p := &policyv1.Principal{}
	if err := proto.Unmarshal(row.Principal, p); err != nil {
		return nil, fmt.Errorf("principal of schedule %s: %w", row.ID, err)
	}
	v, err := scheduleOf(row)
	if err != nil {
		return nil, err
	}
	ctx = authn.With(ctx, p)
	// The time of its making tells a schedule from an earlier one with the same id.
	key := fmt.Sprintf("%s/%d/%s", row.ID, row.CreateUs, f.Key)
	once, err := onceOf(ctx, "schedule_fire", key, &sessionsv1.GetScheduleRequest{ScheduleId: row.ID})
	if err != nil {
		return nil, err
	}
	if t, ok, err := s.before(ctx, once); err != nil || ok {
		return t, err
	}
	if err := s.stillAllowed(ctx, p, v); err != nil {
		return nil, err
	}
	o := order{once: once, clock: row.ID}
	if o.content, err = s.checkText("input", v.GetInput()); err != nil {
		return nil, err
	}
	if v.GetSessionId() != "" {
		o.session, err = s.session(ctx, v.GetSessionId())
	} else {
		o.fresh = true
		o.session, err = s.newSession(ctx, v.GetAgentId(), v.GetDisplayName(), map[string]string{scheduleLabel: row.ID}, v.GetParams())
	}
	if err != nil {
		return nil, err
	}
	return s.accept(ctx, o)
}

// permissions asks policy what somebody may do now.
func (s *Service) permissions(ctx context.Context, p *policyv1.Principal) (authz.Permissions, error) {
	resp, err := s.allowed.GetPermissions(ctx, &policyv1.GetPermissionsRequest{Principal: p})
	if err != nil {
		return authz.Permissions{}, fmt.Errorf("permissions of %s: %w", p.GetSubject(), err)
	}
	return authz.Parse(resp.GetPermissions(), resp.GetDeniedBy()), nil
}

// stillAllowed asks policy whether who made a schedule may do by himself now what it does.
func (s *Service) stillAllowed(ctx context.Context, p *policyv1.Principal, v *sessionsv1.Schedule) error {
	has, err := s.permissions(ctx, p)
	if err != nil {
		return err
	}
	needed := []string{"sessions.turns.create"}
	if v.GetSessionId() == "" {
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
