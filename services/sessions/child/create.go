package child

import (
	"cmp"
	"context"
	"errors"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/ids"
	"github.com/windlass-dev/windlass/libs/providerdata"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/sessions/agentspec"
	"github.com/windlass-dev/windlass/services/sessions/journal"
	"github.com/windlass-dev/windlass/services/sessions/session"
	"github.com/windlass-dev/windlass/services/sessions/store"
	"github.com/windlass-dev/windlass/services/sessions/turn"
)

// Limits of sub-agents where the agent sets none.
const (
	defaultMaxDepth    = 4
	defaultMaxChildren = 32
)

// Create describes the turn of a sub-agent.
type Create struct {
	// ParentID is the turn that starts it, in the step with the key Step, of which the caller holds the lease with this fence.
	ParentID, Step string
	Fence          uint32
	// CallID is the call that starts it.
	CallID, AgentID, Input string
	Params                 *structpb.Struct
	// Background: the parent does not wait for it.
	Background bool
	// Tainted: the input may be influenced by content that is not trusted.
	Tainted bool
}

// Create starts the turn of a sub-agent in a session of its own and returns its link. The link is written first, under the
// parent's lock; then the turn. After a crash in between, the same step finds the link and continues with it.
func (s *Service) Create(ctx context.Context, req Create) (store.Child, error) {
	content, err := s.deps.Input.Text("input", req.Input)
	if err != nil {
		return store.Child{}, err
	}
	if _, err := s.deps.Agents.Get(ctx, req.AgentID, 0); err != nil {
		return store.Child{}, err
	}
	parent, _, err := s.deps.Access.Turn(ctx, req.ParentID)
	if err != nil {
		return store.Child{}, err
	}
	limits, err := s.treeLimits(ctx, parent)
	if err != nil {
		return store.Child{}, err
	}
	var c store.Child
	err = s.deps.Journal.Write(ctx, func(tx *journal.Tx) error {
		var err error
		if parent, err = tx.LockTurn(parent.Tenant, parent.ID); err != nil {
			return err
		}
		step, err := turn.HeldStep(tx, parent, req.Step, req.Fence)
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
		return store.Child{}, turn.Fault(err, req.ParentID)
	}
	return c, s.start(ctx, parent, c, content, req)
}

// treeLimits are the limits of the tree of turns that a turn belongs to.
type treeLimits struct{ maxDepth, maxChildren uint32 }

func limitsOf(a store.Agent) treeLimits {
	own := cmp.Or(a.Spec.Limits, &agentspec.Limits{})
	return treeLimits{cmp.Or(own.MaxDepth, defaultMaxDepth), cmp.Or(own.MaxChildren, defaultMaxChildren)}
}

// treeLimits returns the smallest limits of a turn's agent and of those above it: a sub-agent cannot raise what its callers are bound to.
// If a turn above was deleted, the defaults take its place.
func (s *Service) treeLimits(ctx context.Context, t store.Turn) (treeLimits, error) {
	a, err := s.deps.Agents.OfTurn(ctx, t)
	if err != nil {
		return treeLimits{}, err
	}
	out := limitsOf(a)
	for t.AgentPath != "" {
		above := limitsOf(store.Agent{})
		if t, err = s.above(ctx, t); err == nil {
			a, err = s.deps.Agents.OfTurn(ctx, t)
			above = limitsOf(a)
		}
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return treeLimits{}, err
		}
		out = treeLimits{min(out.maxDepth, above.maxDepth), min(out.maxChildren, above.maxChildren)}
	}
	return out, nil
}

// above returns the turn that started a turn.
func (s *Service) above(ctx context.Context, t store.Turn) (store.Turn, error) {
	link, err := s.deps.Store.Child(ctx, t.Tenant, t.ID)
	if err != nil {
		return store.Turn{}, err
	}
	return s.deps.Store.Turn(ctx, t.Tenant, link.ParentTurnID)
}

// link writes that a step starts a child, unless a limit forbids it.
func link(tx *journal.Tx, parent *store.Turn, step store.Step, req Create, limits treeLimits) (store.Child, error) {
	ctx := tx.Context()
	c := store.Child{
		Tenant: parent.Tenant, TurnID: ids.New(ids.Turn), SessionID: ids.New(ids.Session), AgentID: req.AgentID,
		ParentTurnID: parent.ID, ParentSessionID: parent.SessionID, RootTurnID: parent.ID, StepKey: step.Key, CallID: req.CallID,
		Depth: uint32(1 + strings.Count(parent.Path(), "/")), Background: req.Background, CreateTime: tx.Now(),
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
	case c.Depth > limits.maxDepth:
		return c, limitReached("sub-agents may be %d deep at most (limits.max_depth)", limits.maxDepth)
	case n >= int(limits.maxChildren):
		return c, limitReached("a turn may begin %d turns of sub-agents at most, theirs and those of callbacks included (limits.max_children)",
			limits.maxChildren)
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

// originOf is the turn that an outermost turn follows from: itself, unless a sub-agent in the background has called back with it.
// So agents that answer each callback with a further call come to an end.
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

// start makes the child's session and turn on behalf of the subject that started the parent, unless they exist.
func (s *Service) start(ctx context.Context, parent store.Turn, c store.Child, content []*turnv1.ContentPart,
	req Create,
) error {
	if _, err := s.deps.Store.Turn(ctx, c.Tenant, c.TurnID); err == nil || !errors.Is(err, store.ErrNotFound) {
		return err
	}
	ctx, err := s.asOwner(ctx, parent)
	if err != nil {
		return err
	}
	ses, err := s.deps.Sessions.New(ctx, session.Spec{AgentID: c.AgentID, Params: req.Params})
	if err != nil {
		return err
	}
	ses.ID, ses.ParentSession, ses.ParentTurn = c.SessionID, parent.SessionID, parent.ID
	_, err = s.deps.Turns.Accept(ctx, turn.Spec{
		Session: ses, Fresh: true, Content: content, Tainted: req.Tainted, Child: &c, Path: parent.Path() + "/" + c.AgentID,
		ProviderData: providerdata.Sealed{Bytes: parent.ProviderData, Scope: providerdata.OfTurn(parent.Tenant, parent.ID)},
	})
	if errors.Is(err, store.ErrExists) { // another attempt of the step was faster
		return nil
	}
	return err
}

// asOwner returns a context that acts for the subject that started a turn.
func (s *Service) asOwner(ctx context.Context, t store.Turn) (context.Context, error) {
	in, err := s.deps.Access.Input(ctx, t)
	return authn.With(ctx, in.Principal), err
}
