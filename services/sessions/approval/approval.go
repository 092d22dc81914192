// Package approval is how people answer what turns wait for: they decide approvals, answer questions, send the results of calls
// that they run, and say what became of calls whose outcome is unknown.
package approval

import (
	"context"
	"slices"

	"google.golang.org/grpc/codes"

	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/enum"
	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/timestamp"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/sessions/access"
	"github.com/windlass-dev/windlass/services/sessions/input"
	"github.com/windlass-dev/windlass/services/sessions/journal"
	"github.com/windlass-dev/windlass/services/sessions/store"
	"github.com/windlass-dev/windlass/services/sessions/wait"
)

// Deps are what the service needs; all are required.
type Deps struct {
	Store  *store.Store
	Access access.Reader
	Waits  *wait.Service
	// Input bounds answers.
	Input input.Checker
}

// Service answers waits on behalf of callers.
type Service struct{ deps Deps }

// New returns a Service.
func New(deps Deps) *Service { return &Service{deps: deps} }

// Get returns a wait that the caller may see: one of their own sessions, or one that one of their roles may decide.
func (s *Service) Get(ctx context.Context, id string) (store.Wait, error) {
	w, err := s.deps.Waits.Get(ctx, authn.Tenant(ctx), id)
	if err == nil && !access.Sees(ctx, w.Owner) && !hasRole(ctx, w) {
		err = wait.NotFound(id)
	}
	return w, err
}

// Filter narrows a list; zero fields do not.
type Filter struct {
	// Open keeps open waits only; Verdict those that ended with it.
	Open              bool
	Verdict           turnv1.Verdict
	Kind              turnv1.WaitKind
	SessionID, TurnID string
	store.Page
}

// List lists the waits that the caller may see.
func (s *Service) List(ctx context.Context, f Filter) ([]store.Wait, error) {
	if !access.Storable(f.SessionID) || !access.Storable(f.TurnID) {
		return nil, nil
	}
	return s.deps.Store.Waits(ctx, store.WaitFilter{
		Tenant: authn.Tenant(ctx), Owner: access.Owner(ctx), Roles: authn.From(ctx).GetRoles(), Open: f.Open,
		ForPeople: f.Kind != turnv1.WaitKind_WAIT_KIND_CHILD, // nobody can decide the others
		Verdict:   f.Verdict, Kind: f.Kind, SessionID: f.SessionID, TurnID: f.TurnID, Page: f.Page,
	})
}

// pending is the status of an open wait.
const pending = "pending"

// Status names how a wait ended, "pending" while it is open.
func Status(w store.Wait) string {
	if w.Open() {
		return pending
	}
	return enum.Name(w.Verdict)
}

// hasRole reports whether the caller has one of the roles that may decide a wait.
func hasRole(ctx context.Context, w store.Wait) bool {
	return slices.ContainsFunc(authn.From(ctx).GetRoles(), func(role string) bool {
		return slices.Contains(w.Request.GetApproverRoles(), role)
	})
}

// ended is the error that a wait has ended.
func ended(w store.Wait) error {
	return fault.FailedPrecondition(faultv1.Reason_REASON_APPROVAL_RESOLVED, "approval %s is %s already", w.ID, Status(w)).
		Hint("Read it to see how it ended: GET /v1/approvals/%s.", w.ID)
}

// otherKind is the error that a wait is of another kind than the call is for.
func otherKind(w store.Wait, why string) *fault.Error {
	return fault.FailedPrecondition(faultv1.Reason_REASON_FAILED_PRECONDITION, "%s is of kind %q: %s", w.ID, enum.Name(w.Kind), why)
}

func denied(format string, args ...any) *fault.Error {
	return fault.New(codes.PermissionDenied, faultv1.Reason_REASON_PERMISSION_DENIED, format, args...)
}

// recordDecision adds what one person decided or answered.
func recordDecision(tx *journal.Tx, w *store.Wait, who string, approve bool, comment string) {
	w.Answer.Decisions = append(w.Answer.Decisions, &turnv1.ApprovalDecision{
		Subject: who, Approve: approve, Comment: comment, Time: timestamp.Of(tx.Now()),
	})
}
