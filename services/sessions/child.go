package sessions

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/ids"
	"github.com/windlass-dev/windlass/libs/sqldb"
	executionv1 "github.com/windlass-dev/windlass/proto/gen/windlass/execution/v1"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	policyv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policy/v1"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/sessions/access"
	"github.com/windlass-dev/windlass/services/sessions/api/convert"
	"github.com/windlass-dev/windlass/services/sessions/journal"
	"github.com/windlass-dev/windlass/services/sessions/session"
	"github.com/windlass-dev/windlass/services/sessions/store"
)

// Limits of sub-agents where the agent names none.
const (
	defaultMaxDepth    = 4
	defaultMaxChildren = 32
)

// CreateChild implements ExecutionService. The link is written first, under the parent's lock; then the child, in a session of its own. A crash in
// between leaves a link that the same step finds again.
func (s *Service) CreateChild(ctx context.Context, req *executionv1.CreateChildRequest) (*executionv1.CreateChildResponse, error) {
	content, err := s.checkText("input", req.GetInput())
	if err != nil {
		return nil, err
	}
	if _, err := s.agents.Get(ctx, req.GetAgentId(), 0); err != nil {
		return nil, err
	}
	parent, _, err := s.access.Turn(ctx, req.GetTurnId())
	if err != nil {
		return nil, err
	}
	limits, err := s.familyLimits(ctx, parent)
	if err != nil {
		return nil, err
	}
	var c store.Child
	err = s.journal.Write(ctx, func(tx *journal.Tx) error {
		var err error
		if parent, err = tx.LockTurn(parent.Tenant, parent.ID); err != nil {
			return err
		}
		step, err := heldStep(tx, parent, req.GetStep(), req.GetFence())
		if err != nil {
			return err
		}
		c, err = tx.ChildOfStep(ctx, parent.Tenant, parent.ID, step.Key)
		if errors.Is(err, store.ErrNotFound) {
			c, err = link(tx, &parent, step, req, limits)
		}
		return err
	})
	if err != nil {
		return nil, turnFault(err, req.GetTurnId())
	}
	return &executionv1.CreateChildResponse{SessionId: c.SessionID, TurnId: c.TurnID}, s.startChild(ctx, parent, c, content, req.GetParams())
}

func (s *Service) familyLimits(ctx context.Context, t store.Turn) (*sessionsv1.Limits, error) {
	a, err := s.agents.OfTurn(ctx, t)
	if err != nil {
		return nil, err
	}
	own := convert.LimitsToProto(a.Spec.Limits)
	l := &sessionsv1.Limits{MaxDepth: own.GetMaxDepth(), MaxChildren: own.GetMaxChildren()}
	or(&l.MaxDepth, defaultMaxDepth)
	or(&l.MaxChildren, defaultMaxChildren)
	return l, nil
}

// link writes down that a step begins a child, unless a limit forbids it.
func link(tx *journal.Tx, parent *store.Turn, step store.Step, req *executionv1.CreateChildRequest, limits *sessionsv1.Limits) (store.Child, error) {
	ctx := tx.Context()
	c := store.Child{
		Tenant: parent.Tenant, TurnID: ids.New(ids.Turn), SessionID: ids.New(ids.Session), AgentID: req.GetAgentId(),
		ParentTurnID: parent.ID, ParentSessionID: parent.SessionID, RootTurnID: parent.ID, StepKey: step.Key, CallID: req.GetCallId(),
		Depth: uint32(1 + strings.Count(parent.Path(), "/")), Background: req.GetBackground(), CreateUs: tx.NowUs,
	}
	if parent.AgentPath != "" {
		above, err := tx.Child(ctx, parent.Tenant, parent.ID)
		if err != nil {
			return c, err
		}
		c.RootTurnID, c.OriginTurnID = above.RootTurnID, above.OriginTurnID
	} else {
		var err error
		if c.OriginTurnID, err = originOf(tx, *parent); err != nil {
			return c, err
		}
	}
	n, err := tx.CountChildren(ctx, c.Tenant, c.OriginTurnID)
	switch {
	case err != nil:
		return c, err
	case c.Depth > limits.GetMaxDepth():
		return c, limitReached("sub-agents may be %d deep at most (limits.max_depth)", limits.GetMaxDepth())
	case n >= int(limits.GetMaxChildren()):
		return c, limitReached("a turn may begin %d turns of sub-agents at most, theirs and those of callbacks included (limits.max_children)",
			limits.GetMaxChildren())
	}
	if err := tx.AddChild(ctx, c); err != nil {
		return c, err
	}
	parent.Children++
	if err := tx.SetChildren(ctx, *parent); err != nil {
		return c, err
	}
	_, err = tx.Append(journal.OfStep(*parent, step), &turnv1.Event{Data: &turnv1.Event_ChildStarted{ChildStarted: &turnv1.ChildStarted{
		CallId: c.CallID, AgentId: c.AgentID, SessionId: c.SessionID, TurnId: c.TurnID, Background: c.Background,
	}}})
	return c, err
}

// originOf is the turn that an outermost turn follows from: itself, unless a sub-agent in the background has called back with it. So agents that
// answer each callback with a further call come to an end.
func originOf(tx *journal.Tx, t store.Turn) (string, error) {
	back, err := tx.CalledBack(tx.Context(), t.Tenant, t.ID)
	if errors.Is(err, store.ErrNotFound) {
		return t.ID, nil
	}
	return back.OriginTurnID, err
}

func limitReached(format string, args ...any) error {
	return fault.New(codes.FailedPrecondition, faultv1.Reason_REASON_LIMIT_REACHED, format, args...).
		Hint("Do without, or raise the agent's limit.")
}

// startChild makes the child's session and turn on behalf of the subject that began the parent, unless they exist.
func (s *Service) startChild(
	ctx context.Context, parent store.Turn, c store.Child, content []*turnv1.ContentPart, params *structpb.Struct,
) error {
	if _, err := s.store.Turn(ctx, c.Tenant, c.TurnID); err == nil || !errors.Is(err, store.ErrNotFound) {
		return err
	}
	ctx, err := s.asOwner(ctx, parent)
	if err != nil {
		return err
	}
	ses, err := s.sessions.New(ctx, session.Spec{AgentID: c.AgentID, Title: "", Labels: nil, Params: params})
	if err != nil {
		return err
	}
	ses.ID, ses.ParentSession, ses.ParentTurn = c.SessionID, parent.SessionID, parent.ID
	_, err = s.accept(ctx, order{
		session: ses, fresh: true, content: content, child: &c, path: parent.Path() + "/" + c.AgentID,
	})
	if sqldb.IsUnique(err) { // another attempt of the step was faster
		return nil
	}
	return err
}

// asOwner returns a context that acts for the subject that began a turn.
func (s *Service) asOwner(ctx context.Context, t store.Turn) (context.Context, error) {
	in, err := s.store.TurnInputs(ctx, t.Tenant, t.ID)
	if err != nil {
		return nil, err
	}
	if len(in) != 1 {
		return nil, access.NoTurn(t.ID)
	}
	p := &policyv1.Principal{}
	if err := proto.Unmarshal(in[0].Principal, p); err != nil {
		return nil, fmt.Errorf("principal of turn %s: %w", t.ID, err)
	}
	return authn.With(ctx, p), nil
}
