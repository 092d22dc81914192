// Package wait keeps what turns wait for: decisions and answers of people, results of clients, and the ends of sub-agents' turns.
// A wait holds no lease and no connection: it is a row until it is answered or expires.
package wait

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/ids"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/sessions/access"
	"github.com/windlass-dev/windlass/services/sessions/journal"
	"github.com/windlass-dev/windlass/services/sessions/requester"
	"github.com/windlass-dev/windlass/services/sessions/store"
)

// Times are how long turns wait where rule, tool or agent say nothing else.
type Times struct {
	Approval      time.Duration `yaml:"approval" default:"168h" doc:"Time to decide an approval."`
	Input         time.Duration `yaml:"input" default:"168h" doc:"Time to answer a question of a tool."`
	ClientTool    time.Duration `yaml:"client_tool" default:"24h" doc:"Time for a client to run a client tool."`
	Resolution    time.Duration `yaml:"resolution" default:"720h" doc:"Time to resolve a call whose outcome is unknown."`
	Authorization time.Duration `yaml:"authorization" default:"168h" doc:"Time for the user to log in again, or to connect a source, so that a call can be made for them."`
}

// Notifier is notified of turns that wait.
type Notifier interface {
	// WaitStarted is called in the transaction that starts a wait.
	WaitStarted(tx *journal.Tx, t store.Turn, w store.Wait) error
}

// Waker has a turn continue.
type Waker interface {
	// Wake notifies the workers and the workflow of a turn, whose session is locked, once the transaction is committed.
	Wake(tx *journal.Tx, t store.Turn) error
}

// Deps are what the service needs; all are required.
type Deps struct {
	Store    *store.Store
	Journal  *journal.Journal
	Times    Times
	Notifier Notifier
	Waker    Waker
	Log      *slog.Logger
}

// Service starts and ends waits.
type Service struct{ deps Deps }

// New returns a Service.
func New(deps Deps) *Service { return &Service{deps: deps} }

// NotFound is the error about a wait that does not exist, or that the caller may not see.
func NotFound(id string) error { return fault.NotFound("approval %q does not exist", id) }

// Get reads a wait of the tenant.
func (s *Service) Get(ctx context.Context, tenant, id string) (store.Wait, error) {
	if !access.Storable(id) {
		return store.Wait{}, NotFound(id)
	}
	w, err := s.deps.Store.Wait(ctx, tenant, id)
	if errors.Is(err, store.ErrNotFound) {
		err = NotFound(id)
	}
	return w, err
}

// Begin stores the wait that a tool step ends with, appends its event, and returns the reference for the step's outcome. The
// turn, which the caller saves, counts it.
func (s *Service) Begin(tx *journal.Tx, t *store.Turn, step store.Step, req *store.WaitRequest) (*turnv1.WaitRef, error) {
	w := store.Wait{
		Tenant: t.Tenant, ID: ids.New(ids.Approval), TurnID: t.ID, SessionID: t.SessionID, AgentID: t.AgentID,
		Owner: tx.Session.Subject, Requester: t.Subject, StepKey: step.Key, Kind: req.GetKind(), CallID: req.GetCallId(),
		Tool: req.GetTool(), CreateTime: tx.Now(), Request: req, Answer: &store.WaitAnswer{},
	}
	if in := s.expiresIn(req); in > 0 {
		w.ExpireTime = tx.Now().Add(in)
	}
	var err error
	if w.Requesters, err = requester.Of(tx, *t); err != nil {
		return nil, err
	}
	if err := voidEarlier(tx, *t, w); err != nil {
		return nil, err
	}
	if err := tx.AddWait(tx.Context(), w, req.GetApproverRoles()); err != nil {
		return nil, err
	}
	if e := requested(w); e != nil {
		if _, err := tx.Append(journal.OfStep(*t, step), e); err != nil {
			return nil, err
		}
	}
	if err := recordRequested(tx, w); err != nil {
		return nil, err
	}
	if err := s.deps.Notifier.WaitStarted(tx, *t, w); err != nil {
		return nil, err
	}
	t.OpenWaits++
	if !w.ForPeople() {
		return w.Ref(), s.followChildren(tx, t)
	}
	if t.PeopleWaits++; t.PeopleWaits == 1 {
		err = s.pause(tx, t, tx.Now(), &turnv1.TurnPaused{WaitingFor: w.Kind, ApprovalId: w.ID})
	}
	return w.Ref(), err
}

// expiresIn returns how long a wait may last, 0 = for ever.
func (s *Service) expiresIn(req *store.WaitRequest) time.Duration {
	if d := req.GetExpiresIn().AsDuration(); d > 0 {
		return d
	}
	switch req.GetKind() {
	case turnv1.WaitKind_WAIT_KIND_APPROVAL:
		return s.deps.Times.Approval
	case turnv1.WaitKind_WAIT_KIND_INPUT:
		return s.deps.Times.Input
	case turnv1.WaitKind_WAIT_KIND_CLIENT_TOOL:
		return s.deps.Times.ClientTool
	case turnv1.WaitKind_WAIT_KIND_RESOLUTION:
		return s.deps.Times.Resolution
	case turnv1.WaitKind_WAIT_KIND_AUTHORIZATION:
		return s.deps.Times.Authorization
	}
	return 0
}

// voidEarlier marks approvals as void that were given for other arguments, or another definition of the tool, than the call has now.
func voidEarlier(tx *journal.Tx, t store.Turn, now store.Wait) error {
	if now.Kind != turnv1.WaitKind_WAIT_KIND_APPROVAL {
		return nil
	}
	waits, err := tx.WaitsOf(tx.Context(), now.Tenant, now.TurnID)
	if err != nil {
		return err
	}
	for _, w := range waits {
		if w.CallID != now.CallID || w.Verdict != turnv1.Verdict_VERDICT_APPROVED ||
			w.Request.GetArgumentsHash() == now.Request.GetArgumentsHash() && w.Request.GetDefinitionHash() == now.Request.GetDefinitionHash() {
			continue
		}
		w.Verdict = turnv1.Verdict_VERDICT_VOID
		if err := tx.SaveWait(tx.Context(), w); err != nil {
			return err
		}
		if _, err := tx.Append(Origin(t, w), resolved(w, "")); err != nil {
			return err
		}
		if err := recordResolved(tx, w, ""); err != nil {
			return err
		}
	}
	return nil
}
