package sessions

import (
	"context"
	"errors"
	"fmt"

	"google.golang.org/protobuf/proto"

	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/faultpoint"
	"github.com/windlass-dev/windlass/libs/ids"
	"github.com/windlass-dev/windlass/libs/timestamp"
	executionv1 "github.com/windlass-dev/windlass/proto/gen/windlass/execution/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/sessions/api/convert"
	"github.com/windlass-dev/windlass/services/sessions/artifact"
	"github.com/windlass-dev/windlass/services/sessions/budget"
	"github.com/windlass-dev/windlass/services/sessions/conversation"
	"github.com/windlass-dev/windlass/services/sessions/journal"
	"github.com/windlass-dev/windlass/services/sessions/store"
	"github.com/windlass-dev/windlass/workflows/contract/stepkey"
)

// CommitStep implements ExecutionService.
//
// Each message of the request is told by one event: the message.completed of the request whose message has the same id, or the
// tool_call.completed whose result has the same call id. A message without such an event gets one, after the given events. The message's seq is that of its event.
func (s *Service) CommitStep(ctx context.Context, req *executionv1.CommitStepRequest) (*executionv1.CommitStepResponse, error) {
	if err := s.checkCommit(req); err != nil {
		return nil, err
	}
	var out *executionv1.CommitStepResponse
	write := func(optimistic bool) error {
		return s.journal.Write(ctx, func(tx *journal.Tx) error {
			t, err := tx.LockTurn(authn.Tenant(ctx), req.GetTurnId())
			if err != nil {
				return err
			}
			out, err = s.commitAll(tx, &t, req, optimistic)
			return err
		})
	}
	err := write(true) // what is claimed along with a commit is nearly always new
	if errors.Is(err, store.ErrNotNew) {
		err = write(false)
	}
	if err != nil {
		return nil, turnFault(err, req.GetTurnId())
	}
	if req.GetEnding() != nil || out.GetThen() != nil {
		faultpoint.Hit(faultpoint.TurnEnded)
		s.outbox.TriggerAfterEnd() // this turn's record, and another turn that waited for room
	}
	return out, nil
}

// commit writes a held step of a turn whose session is locked.
func (s *Service) commit(tx *journal.Tx, t *store.Turn, step store.Step, req *executionv1.CommitStepRequest) (*executionv1.CommitStepResponse, error) {
	kind := turnv1.StepKind(step.Kind)
	if (req.GetEnding() != nil) != (kind == turnv1.StepKind_STEP_KIND_FINISH) {
		return nil, fault.Invalid("ending", "belongs to the finish step, and only to it")
	}
	if req.GetEnding() != nil && !terminal(req.GetEnding().GetStatus()) {
		return nil, fault.Invalid("ending.status", "must be completed, failed or cancelled")
	}
	outcome := proto.CloneOf(req.GetOutcome())
	outcome.Kind, outcome.CommittedMicros = kind, tx.NowUs
	outcome.Cancelled = outcome.GetCancelled() || t.CancelRequested
	if kind == turnv1.StepKind_STEP_KIND_TOOL && outcome.GetUsage() == nil && req.GetWait() == nil {
		outcome.Usage = &turnv1.Usage{ToolCalls: 1}
	}
	if err := writeContent(tx, *t, step, outcome, req); err != nil {
		return nil, err
	}
	if req.GetWait() != nil && !t.CancelRequested {
		var err error
		if outcome.Wait, err = s.beginWait(tx, t, step, req.GetWait()); err != nil {
			return nil, err
		}
	}
	if err := s.applyOutcome(tx, t, step, outcome, req); err != nil {
		return nil, err
	}
	data, err := proto.Marshal(outcome)
	if err != nil {
		return nil, fmt.Errorf("outcome of step %s: %w", step.Key, err)
	}
	step.Done, step.Outcome = true, data
	if err := tx.SaveStep(tx.Context(), step); err != nil {
		return nil, err
	}
	if kind == turnv1.StepKind_STEP_KIND_INFER {
		if err := moveUnreadInput(tx, *t, outcome); err != nil {
			return nil, err
		}
	}
	if outcome.GetWait() != nil && req.GetWait().GetChildTurnId() != "" {
		if err := s.joinChild(tx, t, outcome.GetWait().GetId()); err != nil {
			return nil, err
		}
	}
	out := &executionv1.CommitStepResponse{Outcome: outcome}
	if out.Inputs, err = inputs(tx, *t); err != nil {
		return nil, err
	}
	if req.GetEnding() != nil {
		out.NextTurnId, err = s.endTurn(tx, t, effectiveEnding(*t, req.GetEnding()))
	}
	return out, err
}

// effectiveEnding returns ending, or a cancelled one if a cancel was accepted after ending was computed.
func effectiveEnding(t store.Turn, ending *turnv1.Ending) *turnv1.Ending {
	if t.CancelRequested && ending.GetStatus() == turnv1.TurnStatus_TURN_STATUS_COMPLETED {
		return &turnv1.Ending{Status: turnv1.TurnStatus_TURN_STATUS_CANCELLED, StopReason: "cancelled"}
	}
	return ending
}

func terminal(st turnv1.TurnStatus) bool {
	switch st {
	case turnv1.TurnStatus_TURN_STATUS_COMPLETED, turnv1.TurnStatus_TURN_STATUS_FAILED, turnv1.TurnStatus_TURN_STATUS_CANCELLED:
		return true
	}
	return false
}

// heldStep reads a step of a turn whose session is locked if the fence is its newest. A lease that has expired still counts as long as nobody
// has taken it over.
func heldStep(tx *journal.Tx, t store.Turn, key string, fence uint32) (store.Step, error) {
	step, err := tx.Step(tx.Context(), t.Tenant, t.ID, key)
	if errors.Is(err, store.ErrNotFound) || err == nil && (step.Fence != fence || !step.Done && (step.Owner == "" || ended(t))) {
		err = leaseLost(t.ID, key)
	}
	return step, err
}

// writeContent appends the events of the request, and stores its messages with the seq of their events.
func writeContent(tx *journal.Tx, t store.Turn, step store.Step, outcome *turnv1.StepOutcome, req *executionv1.CommitStepRequest) error {
	pending := make([]*turnv1.Message, 0, len(req.GetMessages()))
	for _, m := range req.GetMessages() {
		m = proto.CloneOf(m)
		if m.GetId() == "" && m.GetRole() == turnv1.Role_ROLE_ASSISTANT {
			m.Id = step.MessageID
		}
		if m.GetId() == "" {
			m.Id = ids.New(ids.Message)
		}
		m.SessionId, m.TurnId, m.CreateTime = t.SessionID, t.ID, timestamp.OfMicros(tx.NowUs)
		pending = append(pending, m)
		if outcome.GetMessageId() == "" && step.Kind == int32(turnv1.StepKind_STEP_KIND_INFER) {
			outcome.MessageId = m.GetId()
		}
	}
	for _, a := range req.GetArtifacts() {
		made := artifact.New{ID: a.GetId(), CallID: a.GetCallId(), Name: a.GetName(), MediaType: a.GetMediaType(), Data: a.GetData()}
		if err := artifact.Write(tx, t, step, made); err != nil {
			return err
		}
	}
	for _, e := range req.GetEvents() {
		var err error
		if pending, err = writeEvent(tx, t, step, e, pending); err != nil {
			return err
		}
	}
	for _, m := range pending {
		e := &turnv1.Event{Data: &turnv1.Event_MessageCompleted{MessageCompleted: &turnv1.MessageCompleted{Message: m}}}
		if m.GetRole() == turnv1.Role_ROLE_TOOL {
			e = &turnv1.Event{Data: &turnv1.Event_ToolCallCompleted{ToolCallCompleted: &turnv1.ToolCallCompleted{Result: m.GetToolResult()}}}
		}
		if _, err := writeEvent(tx, t, step, e, []*turnv1.Message{m}); err != nil {
			return err
		}
	}
	return nil
}

// writeEvent appends one event; if it tells of one of the messages, that one is stored too and taken off the list.
func writeEvent(tx *journal.Tx, t store.Turn, step store.Step, e *turnv1.Event, pending []*turnv1.Message) ([]*turnv1.Message, error) {
	if journal.Type(e) == "" || e.GetTurnEnded() != nil {
		return nil, fault.Invalid("events", "%T is not an event that a step may write", e.GetData())
	}
	if err := attach(tx, t, e); err != nil {
		return nil, err
	}
	for i, m := range pending {
		if !tells(e, step, m) {
			continue
		}
		m.Seq = tx.Session.LastSeq + 1
		if done := e.GetMessageCompleted(); done != nil {
			done = proto.CloneOf(done)
			done.Message = m
			e = &turnv1.Event{Data: &turnv1.Event_MessageCompleted{MessageCompleted: done}}
		}
		if err := addMessage(tx, t, m); err != nil {
			return nil, err
		}
		pending = append(pending[:i:i], pending[i+1:]...)
		break
	}
	if c := e.GetContextCompacted(); c != nil {
		return pending, conversation.Compact(tx, t, step, c)
	}
	if e.GetArtifactCreated() != nil {
		return nil, fault.Invalid("events", "artifact.created is written for the artifacts of a commit, and only for them")
	}
	_, err := tx.Append(journal.OfStep(t, step), e)
	return pending, err
}

// tells reports whether e is the event of message m.
func tells(e *turnv1.Event, step store.Step, m *turnv1.Message) bool {
	switch d := e.GetData().(type) {
	case *turnv1.Event_MessageCompleted:
		id := d.MessageCompleted.GetMessage().GetId()
		return m.GetRole() != turnv1.Role_ROLE_TOOL && (id == m.GetId() || id == "" && m.GetId() == step.MessageID)
	case *turnv1.Event_ToolCallCompleted:
		return m.GetRole() == turnv1.Role_ROLE_TOOL && d.ToolCallCompleted.GetResult().GetCallId() == m.GetToolResult().GetCallId()
	}
	return false
}

// applyOutcome writes what the outcome changes in the turn, then usage.updated and step.finished.
func (s *Service) applyOutcome(tx *journal.Tx, t *store.Turn, step store.Step, outcome *turnv1.StepOutcome, req *executionv1.CommitStepRequest) error {
	switch turnv1.StepKind(step.Kind) {
	case turnv1.StepKind_STEP_KIND_BEGIN:
		if err := pin(tx, t, outcome.GetSurface(), &executionv1.LoadTurnResponse{Tools: req.GetTools(), AgentTools: req.GetAgentTools()}); err != nil {
			return err
		}
	case turnv1.StepKind_STEP_KIND_INFER, turnv1.StepKind_STEP_KIND_TOOL, turnv1.StepKind_STEP_KIND_SELECT, turnv1.StepKind_STEP_KIND_PLAN,
		turnv1.StepKind_STEP_KIND_COMPACT:
		total, err := addUsage(t, turnv1.StepKind(step.Kind), outcome.GetUsage())
		if err != nil {
			return err
		}
		tx.KeepTurn(t)
		if err := s.budgets.Settle(tx, *t, step, outcome); err != nil {
			return err
		}
		if step.Kind == int32(turnv1.StepKind_STEP_KIND_TOOL) {
			break
		}
		e := &turnv1.Event{Data: &turnv1.Event_UsageUpdated{UsageUpdated: &turnv1.UsageUpdated{Usage: total}}}
		if _, err := tx.Append(journal.OfStep(*t, step), e); err != nil {
			return err
		}
	}
	_, err := tx.Append(journal.OfStep(*t, step), &turnv1.Event{Data: &turnv1.Event_StepFinished{StepFinished: &turnv1.StepFinished{
		Kind: stepkey.KindName(turnv1.StepKind(step.Kind)), DurationMs: req.GetDurationMs(), Error: outcome.GetError(),
	}}})
	return err
}

// pin keeps what the turn may use from now on.
func pin(tx *journal.Tx, t *store.Turn, surface *turnv1.Surface, tools *executionv1.LoadTurnResponse) error {
	if surface == nil { // the turn could not begin; it will be ended with an error
		return nil
	}
	t.Model, t.BlueprintRevision, t.DeadlineUs = surface.GetModel(), surface.GetBlueprintRevision(), surface.GetDeadlineMicros()
	tx.KeepTurn(t)
	data, err := proto.Marshal(surface)
	if err != nil {
		return fmt.Errorf("surface of turn %s: %w", t.ID, err)
	}
	list, err := proto.Marshal(tools)
	if err != nil {
		return fmt.Errorf("tools of turn %s: %w", t.ID, err)
	}
	if err := budget.LimitTurn(tx, t, surface); err != nil {
		return err
	}
	return tx.AddSurface(tx.Context(), t.Tenant, t.ID, store.Surface{Surface: data, Tools: list})
}

// addUsage adds what a step used to the turn's totals. A model step counts as one call at least.
func addUsage(t *store.Turn, kind turnv1.StepKind, used *turnv1.Usage) (*turnv1.Usage, error) {
	total, err := convert.Usage(*t)
	if err != nil {
		return nil, err
	}
	total.InputTokens += used.GetInputTokens()
	total.OutputTokens += used.GetOutputTokens()
	total.CachedInputTokens += used.GetCachedInputTokens()
	total.ReasoningTokens += used.GetReasoningTokens()
	total.CostMicros += used.GetCostMicros()
	if kind != turnv1.StepKind_STEP_KIND_TOOL {
		total.ModelCalls += max(1, used.GetModelCalls())
	} else {
		total.ToolCalls += used.GetToolCalls()
	}
	if t.Usage, err = proto.Marshal(total); err != nil {
		return nil, fmt.Errorf("usage of turn %s: %w", t.ID, err)
	}
	return total, nil
}
