package sessions

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/fault"
	executionv1 "github.com/windlass-dev/windlass/proto/gen/windlass/execution/v1"
	policyv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policy/v1"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/sessions/access"
	"github.com/windlass-dev/windlass/services/sessions/api/convert"
	"github.com/windlass-dev/windlass/services/sessions/conversation"
	"github.com/windlass-dev/windlass/services/sessions/journal"
	"github.com/windlass-dev/windlass/services/sessions/rerun"
	"github.com/windlass-dev/windlass/services/sessions/store"
)

// LoadTurn implements ExecutionService. The agent's limits are complete: the mesh's defaults stand where it has none, and
// those that the turn's caller set where they are lower.
func (s *Service) LoadTurn(ctx context.Context, req *executionv1.LoadTurnRequest) (*executionv1.LoadTurnResponse, error) {
	t, ses, err := s.access.Turn(ctx, req.GetTurnId())
	if err != nil {
		return nil, err
	}
	out := &executionv1.LoadTurnResponse{}
	if err := s.readSurface(ctx, t, out); err != nil {
		return nil, err
	}
	a, err := s.agents.OfTurn(ctx, t)
	if err != nil {
		return nil, err
	}
	if out.Surface == nil {
		if out.AgentTools, err = s.agentTools(ctx, a); err != nil {
			return nil, err
		}
	}
	in, err := s.reruns.InputOf(ctx, t)
	if err != nil {
		return nil, err
	}
	if err := readInput(out, in); err != nil {
		return nil, err
	}
	if err := s.resolveAgent(ctx, out, a, t, ses); err != nil {
		return nil, err
	}
	if out.ExecutorSessionId, err = s.executorSession(ctx, t, out.GetAgent()); err != nil { // it is known by what the placeholders came to
		return nil, err
	}
	if m := out.GetRerun().GetModel(); m != "" {
		out.Agent.Model = m
	}
	if t.AgentPath != "" {
		out.AgentPath = strings.Split(t.AgentPath, "/")
	}
	out.CreateMicros, out.CancelRequested, out.ContextBytes = t.CreateUs, t.CancelRequested, ses.ContextBytes
	out.NowMicros = s.store.NowUs()
	if req.GetWithContext() {
		if out.Context, err = s.firstContext(ctx, t, ses, out); err != nil {
			return nil, err
		}
	}
	// Behind the conversation: where no step is done now, what was just read is what was said before the turn.
	if out.Outcomes, _, err = s.outcomes(ctx, t); err != nil {
		return nil, err
	}
	if len(out.GetOutcomes()) > 0 {
		out.Context = nil
	}
	if out.Turn, err = convert.TurnToProto(t, in); err != nil || out.GetTurn().GetLimits() == nil {
		return out, err
	}
	own, err := limitsOf(out.GetTurn().GetLimits())
	out.Agent.Limits = withTreeLimits(s.agentLimits(a).lowered(own), out.GetAgent().GetLimits())
	return out, err
}

// resolveAgent puts the agent that a turn runs with into what is loaded of it. What cannot be resolved is reported there.
func (s *Service) resolveAgent(ctx context.Context, out *executionv1.LoadTurnResponse, a store.Agent, t store.Turn, ses store.Session) error {
	r, err := s.blueprints.ResolveTurn(ctx, a, t, ses, out.GetPrincipal())
	if err != nil {
		return err
	}
	limits := s.agentLimits(a)
	a.Spec = r.Spec
	out.Agent, out.Params, out.ExecutorSealed = convert.AgentToProto(a), r.Params, r.ExecutorSealed
	out.Agent.Limits = withTreeLimits(limits, out.GetAgent().GetLimits())
	if r.Unresolved != nil {
		out.Unresolved = &turnv1.TurnError{Code: fault.CodeName(r.Unresolved.Reason), Message: r.Unresolved.Text()}
	}
	return nil
}

// agentTools converts the sub-agents of an agent.
func (s *Service) agentTools(ctx context.Context, a store.Agent) ([]*executionv1.AgentTool, error) {
	tools, err := s.agents.Tools(ctx, a)
	var out []*executionv1.AgentTool
	for _, t := range tools {
		out = append(out, &executionv1.AgentTool{
			Name: t.Name, AgentId: t.AgentID, Description: t.Description, InputSchemaJson: t.InputSchema, DefinitionHash: t.Hash,
		})
	}
	return out, err
}

// firstContext reads the conversation that the first model step of a turn reads; nil if that step is not the turn's first one, or if turns before it
// are not over.
func (s *Service) firstContext(ctx context.Context, t store.Turn, ses store.Session, out *executionv1.LoadTurnResponse) (*executionv1.GetContextResponse, error) {
	if t.StartUs != 0 || t.Place == store.Unplaced || out.GetRerun() != nil || !asksFirst(out.GetAgent()) {
		return nil, nil
	}
	read, err := s.conversations.Window(ctx, t, ses, 0)
	if err != nil {
		return nil, err
	}
	return windowToProto(read), nil
}

// readInput decodes what a turn was given into what is loaded of it.
func readInput(out *executionv1.LoadTurnResponse, in store.TurnInput) (err error) {
	tools := &executionv1.LoadTurnResponse{}
	if err := proto.Unmarshal(in.ClientTools, tools); err != nil {
		return fmt.Errorf("client tools of turn %s: %w", in.TurnID, err)
	}
	out.ClientTools, out.Principal = tools.GetClientTools(), &policyv1.Principal{}
	if err := proto.Unmarshal(in.Principal, out.Principal); err != nil {
		return fmt.Errorf("principal of turn %s: %w", in.TurnID, err)
	}
	out.Rerun, err = rerun.Of(in)
	return err
}

// readSurface reads what a turn was pinned to, if it has begun.
func (s *Service) readSurface(ctx context.Context, t store.Turn, out *executionv1.LoadTurnResponse) error {
	if t.StartUs == 0 { // no step of it was ever claimed
		return nil
	}
	pinned, err := s.store.Surface(ctx, t.Tenant, t.ID)
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("surface of turn %s: %w", t.ID, err)
	}
	if err := proto.Unmarshal(pinned.Tools, out); err != nil {
		return fmt.Errorf("tools of turn %s: %w", t.ID, err)
	}
	out.Surface = &turnv1.Surface{}
	if err := proto.Unmarshal(pinned.Surface, out.Surface); err != nil {
		return fmt.Errorf("surface of turn %s: %w", t.ID, err)
	}
	return nil
}

// asksFirst tells whether the turns of an agent begin with a model step.
func asksFirst(a *sessionsv1.Agent) bool {
	switch a.GetStrategy() {
	case turnv1.Strategy_STRATEGY_UNSPECIFIED, turnv1.Strategy_STRATEGY_REACT, turnv1.Strategy_STRATEGY_REACT_TEXT, turnv1.Strategy_STRATEGY_DIRECT:
		return a.GetExecutor() == nil
	}
	return false
}

// GetOutcomes implements ExecutionService.
func (s *Service) GetOutcomes(ctx context.Context, req *executionv1.GetOutcomesRequest) (*executionv1.GetOutcomesResponse, error) {
	t, err := s.store.Turn(ctx, authn.Tenant(ctx), req.GetTurnId()) // before the steps, so that an ended turn shows all of them
	if err != nil {
		return nil, turnFault(err, req.GetTurnId())
	}
	out := &executionv1.GetOutcomesResponse{Ended: ended(t), NowMicros: s.store.NowUs()}
	out.Outcomes, out.Held, err = s.outcomes(ctx, t)
	return out, err
}

// outcomes reads what the steps of a turn have come to, and who works on the others.
func (s *Service) outcomes(ctx context.Context, t store.Turn) ([]*turnv1.StepOutcome, map[string]*executionv1.Busy, error) {
	steps, err := s.store.Steps(ctx, t.Tenant, t.ID)
	if err != nil {
		return nil, nil, err
	}
	var done []*turnv1.StepOutcome
	held := map[string]*executionv1.Busy{}
	now := s.store.NowUs()
	for _, step := range steps {
		if step.Done {
			outcome, err := outcomeOf(step)
			if err != nil {
				return nil, nil, err
			}
			done = append(done, outcome)
		} else if step.LeaseExpiresUs > now {
			held[step.Key] = busy(step, now)
		}
	}
	return done, held, nil
}

// RenewStep implements ExecutionService.
func (s *Service) RenewStep(ctx context.Context, req *executionv1.RenewStepRequest) (*executionv1.RenewStepResponse, error) {
	tenant := authn.Tenant(ctx)
	var held bool
	err := s.store.Write(ctx, func(tx *store.Tx) (err error) {
		ttl := min(int64(req.GetTtlMs())*1000, s.cfg.MaxLease.Microseconds())
		held, err = tx.RenewStep(ctx, tenant, req.GetTurnId(), req.GetStep(), req.GetFence(), s.store.NowUs()+ttl)
		return err
	})
	if err != nil {
		return nil, err
	}
	t, err := s.store.Turn(ctx, tenant, req.GetTurnId())
	if err != nil {
		return nil, turnFault(err, req.GetTurnId())
	}
	if !held {
		return nil, leaseLost(t.ID, req.GetStep())
	}
	return &executionv1.RenewStepResponse{CancelRequested: t.CancelRequested, NowMicros: s.store.NowUs()}, nil
}

// AppendEvents implements ExecutionService.
func (s *Service) AppendEvents(ctx context.Context, req *executionv1.AppendEventsRequest) (*executionv1.AppendEventsResponse, error) {
	out := &executionv1.AppendEventsResponse{}
	err := s.journal.Write(ctx, func(tx *journal.Tx) error {
		t, err := tx.LockTurn(authn.Tenant(ctx), req.GetTurnId())
		if err != nil {
			return err
		}
		step, err := heldStep(tx, t, req.GetStep(), req.GetFence())
		if err != nil {
			return err
		}
		if step.Done {
			return leaseLost(t.ID, step.Key)
		}
		for _, e := range req.GetEvents() {
			if _, err := writeEvent(tx, t, step, e, nil); err != nil {
				return err
			}
		}
		out.LastSeq = tx.Session.LastSeq
		return nil
	})
	if err != nil {
		return nil, turnFault(err, req.GetTurnId())
	}
	return out, nil
}

// ReleaseStep implements ExecutionService. A step that is done stays so. One that rests has a lease that nobody holds.
func (s *Service) ReleaseStep(ctx context.Context, req *executionv1.ReleaseStepRequest) (*executionv1.ReleaseStepResponse, error) {
	err := s.journal.Write(ctx, func(tx *journal.Tx) error {
		t, err := tx.LockTurn(authn.Tenant(ctx), req.GetTurnId())
		if err != nil {
			return err
		}
		step, err := heldStep(tx, t, req.GetStep(), req.GetFence())
		if err != nil || step.Done {
			return err
		}
		step.Owner, step.LeaseExpiresUs = "", 0
		if rest := int64(req.GetRestMs()) * 1000; rest > 0 {
			step.LeaseExpiresUs = tx.NowUs + rest
		}
		return tx.SaveStep(ctx, step)
	})
	if err != nil {
		return nil, turnFault(err, req.GetTurnId())
	}
	return &executionv1.ReleaseStepResponse{}, nil
}

// GetContext implements ExecutionService.
func (s *Service) GetContext(ctx context.Context, req *executionv1.GetContextRequest) (*executionv1.GetContextResponse, error) {
	t, ses, err := s.access.Turn(ctx, req.GetTurnId())
	if err != nil {
		return nil, err
	}
	read, err := s.conversations.Window(ctx, t, ses, int(req.GetMaxBytes()))
	if err != nil {
		return nil, err
	}
	return windowToProto(read), nil
}

func windowToProto(w conversation.Window) *executionv1.GetContextResponse {
	return &executionv1.GetContextResponse{Messages: w.Messages, Truncated: w.Truncated, Inputs: w.Inputs, Compacted: w.Compacted}
}

// GetToolCall implements ExecutionService.
func (s *Service) GetToolCall(ctx context.Context, req *executionv1.GetToolCallRequest) (*turnv1.ToolCall, error) {
	t, _, err := s.access.Turn(ctx, req.GetTurnId())
	if err != nil {
		return nil, err
	}
	missing := fault.NotFound("turn %s has no tool call %q in message %q", t.ID, req.GetCallId(), req.GetMessageId())
	if !access.Storable(req.GetMessageId()) {
		return nil, missing
	}
	row, err := s.store.Message(ctx, t.Tenant, req.GetMessageId())
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
		if call.GetCallId() == req.GetCallId() {
			return call, nil
		}
	}
	return nil, missing
}
