package step

import (
	"context"
	"errors"
	"fmt"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/fault"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/sessions/access"
	"github.com/windlass-dev/windlass/services/sessions/agentspec"
	"github.com/windlass-dev/windlass/services/sessions/conversation"
	"github.com/windlass-dev/windlass/services/sessions/limits"
	"github.com/windlass-dev/windlass/services/sessions/store"
	"github.com/windlass-dev/windlass/workflows/contract"
)

// Loaded is what a turn starts from.
type Loaded struct {
	Turn    store.Turn
	Session store.Session
	Input   store.TurnInput
	// Agent is the blueprint that the turn runs with: its texts are those for the turn's user. Its limits are complete: those of the
	// mesh stand where it sets none, and those that the turn's caller set where they are lower.
	Agent store.Agent
	// Params are those of the session, with the agent's defaults; ExecutorSealed: the executor's texts are sealed for the worker.
	Params         *structpb.Struct
	ExecutorSealed bool
	// ModelChosen: the agent's model is the one that the turn's caller chose.
	ModelChosen bool
	// Unresolved is why the blueprint cannot be resolved, nil if it is.
	Unresolved *fault.Error
	// Surface is nil until the begin step has pinned it. Agents are the sub-agents, those of now until then.
	Surface *turnv1.Surface
	Tools   []*store.PinnedTool
	Agents  []*store.AgentTool
	// Outcomes are those of the steps that are done.
	Outcomes []*turnv1.StepOutcome
	// MayRunAhead: model calls of the turn may be made before the claims of their steps are answered. It is not looked up without the context.
	MayRunAhead bool
	// Context is what the first model step reads, nil if it was not requested or is not what that step would read.
	Context *conversation.Window
}

// Load returns what a turn of the caller starts from.
func (s *Service) Load(ctx context.Context, turnID string, withContext bool) (*Loaded, error) {
	t, ses, err := s.deps.Access.Turn(ctx, turnID)
	if err != nil {
		return nil, err
	}
	out := &Loaded{Turn: t, Session: ses}
	if err := s.readSurface(ctx, out); err != nil {
		return nil, err
	}
	a, err := s.deps.Agents.OfTurn(ctx, t)
	if err != nil {
		return nil, err
	}
	if out.Surface == nil {
		if out.Agents, err = s.deps.Agents.Tools(ctx, a); err != nil {
			return nil, err
		}
	}
	if out.Input, err = s.deps.Access.Input(ctx, t); err != nil {
		return nil, err
	}
	if err := s.resolveAgent(ctx, out, a); err != nil {
		return nil, err
	}
	if withContext {
		if out.Context, err = s.firstContext(ctx, out); err != nil {
			return nil, err
		}
	}
	// After the conversation: where no step is done now, what was just read is what was said before the turn.
	steps, err := s.outcomes(ctx, t)
	if err != nil {
		return nil, err
	}
	if out.Outcomes = steps.Done; len(out.Outcomes) > 0 {
		out.Context = nil
	}
	if withContext && t.ProviderData == nil {
		reserves, err := s.deps.Store.Budgeted(ctx, t.Tenant, t.ID)
		if err != nil {
			return nil, err
		}
		out.MayRunAhead = !reserves
	}
	return out, nil
}

// resolveAgent puts the agent that a turn runs with into what is loaded of it. What cannot be resolved is reported there.
func (s *Service) resolveAgent(ctx context.Context, out *Loaded, a store.Agent) error {
	r, err := s.deps.Blueprints.ResolveTurn(ctx, a, out.Turn, out.Session, out.Input.Principal)
	if err != nil {
		return err
	}
	own, err := limits.Of(out.Input.Limits)
	if err != nil {
		return fmt.Errorf("limits of turn %s: %w", out.Turn.ID, err)
	}
	complete := s.deps.Limits.OfAgent(a).Lowered(own).Spec()
	if of := a.Spec.Limits; of != nil { // those that only agents have
		complete.MaxChildren, complete.MaxDepth = of.MaxChildren, of.MaxDepth
	}
	out.Agent, out.Params, out.ExecutorSealed, out.Unresolved = a, r.Params, r.ExecutorSealed, r.Unresolved
	out.Agent.Spec = r.Spec
	out.Agent.Spec.Limits = complete
	if schema := out.Input.OutputSchema; schema != nil {
		out.Agent.Spec.OutputSchema = schema
	}
	if banks := out.Session.Banks; len(banks) > 0 {
		out.Agent.Spec.Banks = banks
	}
	if out.Input.WithoutMemory {
		out.Agent.Spec.Memory = contract.MemoryOff
	}
	if m := out.Input.Rerun.GetModel(); m != "" {
		out.Agent.Spec.Model = m
	} else if m := out.Input.Model; m != "" {
		out.Agent.Spec.Model, out.ModelChosen = m, true
	}
	return nil
}

// firstContext reads the conversation that the first model step of a turn reads; nil if that step is not the turn's first one, or
// if turns before it are not over.
func (s *Service) firstContext(ctx context.Context, l *Loaded) (*conversation.Window, error) {
	if !l.Turn.StartTime.IsZero() || l.Turn.Place == store.Unplaced || l.Input.Rerun != nil || !startsWithModel(l.Agent.Spec) {
		return nil, nil
	}
	read, err := s.deps.Conversations.Window(ctx, l.Turn, l.Session, 0)
	return &read, err
}

// startsWithModel reports whether the turns of an agent start with a model step.
func startsWithModel(a agentspec.Spec) bool {
	switch a.Strategy {
	case turnv1.Strategy_STRATEGY_UNSPECIFIED, turnv1.Strategy_STRATEGY_REACT, turnv1.Strategy_STRATEGY_REACT_TEXT,
		turnv1.Strategy_STRATEGY_DIRECT:
		return a.Executor == nil
	}
	return false
}

// readSurface reads what a turn was pinned to, if it has begun.
func (s *Service) readSurface(ctx context.Context, out *Loaded) error {
	if out.Turn.StartTime.IsZero() { // no step of it was ever claimed
		return nil
	}
	pinned, err := s.deps.Store.Surface(ctx, out.Turn.Tenant, out.Turn.ID)
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	out.Surface, out.Tools, out.Agents = pinned.Surface, pinned.Tools, pinned.Agents
	return err
}

// ToolCall returns a tool call of a committed message of a turn of the caller.
func (s *Service) ToolCall(ctx context.Context, turnID, messageID, callID string) (*turnv1.ToolCall, error) {
	t, _, err := s.deps.Access.Turn(ctx, turnID)
	if err != nil {
		return nil, err
	}
	missing := fault.NotFound("turn %s has no tool call %q in message %q", t.ID, callID, messageID)
	if !access.Storable(messageID) {
		return nil, missing
	}
	row, err := s.deps.Store.Message(ctx, authn.Tenant(ctx), messageID)
	if errors.Is(err, store.ErrNotFound) || err == nil && row.TurnID != t.ID {
		return nil, missing
	}
	if err != nil {
		return nil, err
	}
	m, err := conversation.Message(row)
	if err != nil {
		return nil, err
	}
	for _, call := range m.GetToolCalls() {
		if call.GetCallId() == callID {
			return call, nil
		}
	}
	return nil, missing
}
