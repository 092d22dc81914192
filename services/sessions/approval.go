package sessions

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/enum"
	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/page"
	"github.com/windlass-dev/windlass/libs/timestamp"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/sessions/access"
	"github.com/windlass-dev/windlass/services/sessions/journal"
	"github.com/windlass-dev/windlass/services/sessions/store"
)

// verdictName returns what a wait's verdict is called, "pending" while there is none.
func verdictName(v turnv1.Verdict) string { return cmp.Or(enum.Name(v), "pending") }

// keyOf gives the key of a value, the zero value when there is none.
func keyOf[K comparable](names map[K]string, name string) (key K) {
	for k, n := range names {
		if n == name {
			return k
		}
	}
	return key
}

func noApproval(id string) error { return fault.NotFound("approval %q does not exist", id) }

// waitOf reads a wait.
func (s *Service) waitOf(ctx context.Context, tenant, id string) (*wait, error) {
	if !access.Storable(id) {
		return nil, noApproval(id)
	}
	row, err := s.store.Wait(ctx, tenant, id)
	if errors.Is(err, store.ErrNotFound) {
		return nil, noApproval(id)
	}
	if err != nil {
		return nil, err
	}
	return readWait(row)
}

// seenWait reads a wait that the caller may see: one of their own sessions, or one that one of their roles may decide.
func (s *Service) seenWait(ctx context.Context, id string) (*wait, error) {
	w, err := s.waitOf(ctx, authn.Tenant(ctx), id)
	if err != nil {
		return nil, err
	}
	if access.Sees(ctx, w.Owner) || w.hasRole(ctx) {
		return w, nil
	}
	return nil, noApproval(id)
}

// hasRole reports whether the caller has one of the roles that may decide it.
func (w *wait) hasRole(ctx context.Context) bool {
	return slices.ContainsFunc(authn.From(ctx).GetRoles(), func(role string) bool {
		return slices.Contains(w.request.GetApproverRoles(), role)
	})
}

// ofCaller reports whether it belongs to a session that the caller may use.
func (w *wait) ofCaller(ctx context.Context) bool {
	own := access.Owner(ctx)
	return own == "" || own == w.Owner
}

// over says that a wait has ended.
func (w *wait) over() error {
	return fault.FailedPrecondition(faultv1.Reason_REASON_APPROVAL_RESOLVED, "approval %s is %s already", w.ID, verdictName(w.verdict())).
		Hint("Read it to see how it ended: GET /v1/approvals/%s.", w.ID)
}

// onWait locks the session of a wait that the caller may see and calls f with the wait as it is now. A wait whose time is up is expired instead,
// and the caller gets the error that it is over.
func (s *Service) onWait(ctx context.Context, seen *wait, f func(tx *journal.Tx, t *store.Turn, w *wait) error) (*sessionsv1.Approval, error) {
	var now *wait
	var late error
	err := s.journal.Write(ctx, func(tx *journal.Tx) error {
		late = nil
		t, err := tx.LockTurn(seen.Tenant, seen.TurnID)
		if err != nil {
			return err
		}
		row, err := tx.Wait(ctx, seen.Tenant, seen.ID)
		if err != nil {
			return err
		}
		if now, err = readWait(row); err != nil {
			return err
		}
		if !now.due(tx.NowUs) {
			return f(tx, &t, now)
		}
		if err := s.endWait(tx, &t, now, turnv1.Verdict_VERDICT_EXPIRED, ""); err != nil {
			return err
		}
		late = now.over()
		return s.notifyWorkflow(tx, t)
	})
	if errors.Is(err, store.ErrNotFound) {
		err = noApproval(seen.ID)
	}
	if err == nil {
		err = late
	}
	if err != nil {
		return nil, err
	}
	return now.toProto(), nil
}

// GetApproval implements ApprovalService.
func (s *Service) GetApproval(ctx context.Context, req *sessionsv1.GetApprovalRequest) (*sessionsv1.Approval, error) {
	w, err := s.seenWait(ctx, req.GetApprovalId())
	if err != nil {
		return nil, err
	}
	return w.toProto(), nil
}

// ListApprovals implements ApprovalService.
func (s *Service) ListApprovals(ctx context.Context, req *sessionsv1.ListApprovalsRequest) (*sessionsv1.ListApprovalsResponse, error) {
	if !access.Storable(req.GetSessionId()) || !access.Storable(req.GetTurnId()) {
		return &sessionsv1.ListApprovalsResponse{}, nil
	}
	filter := store.WaitFilter{
		Tenant: authn.Tenant(ctx), Owner: access.Owner(ctx), Roles: authn.From(ctx).GetRoles(), Open: req.GetStatus() == "pending",
		Kind: int32(enum.Parse[turnv1.WaitKind](req.GetKind())), SessionID: req.GetSessionId(), TurnID: req.GetTurnId(),
	}
	if req.GetStatus() != "" {
		filter.Verdict = int32(enum.Parse[turnv1.Verdict](req.GetStatus()))
	}
	var at timeCursor
	list := fmt.Sprintf("approvals|%s|%s|%s|%s|%s", filter.Owner, req.GetStatus(), req.GetKind(), req.GetSessionId(), req.GetTurnId())
	size, err := page.Request(list, req.GetPageSize(), req.GetPageToken(), 50, &at)
	if err != nil {
		return nil, err
	}
	filter.BeforeUs, filter.BeforeID, filter.Limit = at.Us, at.ID, size+1
	rows, err := s.store.Waits(ctx, filter)
	if err != nil {
		return nil, err
	}
	rows, next := page.Trim(rows, size, list, func(w store.Wait) any { return timeCursor{w.CreateUs, w.ID} })
	out := &sessionsv1.ListApprovalsResponse{NextPageToken: next}
	for _, row := range rows {
		w, err := readWait(row)
		if err != nil {
			return nil, err
		}
		out.Approvals = append(out.Approvals, w.toProto())
	}
	return out, nil
}

// toProto is the wait as people see it.
func (w *wait) toProto() *sessionsv1.Approval {
	r := w.request
	out := &sessionsv1.Approval{
		Id: w.ID, Kind: enum.Name(w.kind()), Status: verdictName(w.verdict()), SessionId: w.SessionID, TurnId: w.TurnID, AgentId: w.AgentID,
		CallId: w.CallID, Tool: w.Tool, Arguments: r.GetArguments(), ArgumentsHash: r.GetArgumentsHash(), DefinitionHash: r.GetDefinitionHash(),
		Effect: r.GetEffect(), Rule: r.GetRule(), Message: r.GetMessage(), Schema: w.schema(), ApproverRoles: r.GetApproverRoles(),
		AllowRequester: r.GetAllowRequester(), Decisions: w.answer.GetDecisions(), Requester: w.Requester, Requesters: w.requesters, ExecutionId: r.GetExecutionId(),
		CreateTime: timestamp.OfMicros(w.CreateUs), ExpireTime: timestamp.OfMicros(w.ExpiresUs), EndTime: timestamp.OfMicros(w.EndUs),
	}
	if w.kind() == turnv1.WaitKind_WAIT_KIND_APPROVAL {
		out.Quorum = w.quorum()
		if out.Arguments == nil {
			out.Arguments = &structpb.Struct{}
		}
	}
	return out
}

// quorum is how many must approve.
func (w *wait) quorum() uint32 { return max(w.request.GetQuorum(), 1) }
