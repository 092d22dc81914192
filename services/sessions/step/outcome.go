package step

import (
	"fmt"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/money"
	"github.com/windlass-dev/windlass/libs/sqldb"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/sessions/budget"
	"github.com/windlass-dev/windlass/services/sessions/journal"
	"github.com/windlass-dev/windlass/services/sessions/store"
	"github.com/windlass-dev/windlass/services/sessions/store/usagedb"
	"github.com/windlass-dev/windlass/services/sessions/turn"
	"github.com/windlass-dev/windlass/workflows/contract/stepkey"
)

// commit writes a held step of a turn whose session is locked.
func (s *Service) commit(tx *journal.Tx, t *store.Turn, step store.Step, c Commit) (*Committed, error) {
	kind := step.Kind
	if (c.Ending != nil) != (kind == turnv1.StepKind_STEP_KIND_FINISH) {
		return nil, fault.Invalid("ending", "belongs to the finish step, and only to it")
	}
	if c.Ending != nil && !turn.Terminal(c.Ending.GetStatus()) {
		return nil, fault.Invalid("ending.status", "must be completed, failed or cancelled")
	}
	outcome := proto.CloneOf(c.Outcome)
	outcome.Kind, outcome.CommittedMicros = kind, tx.Now().UnixMicro()
	outcome.Cancelled = outcome.GetCancelled() || t.CancelRequested
	if kind == turnv1.StepKind_STEP_KIND_TOOL && outcome.GetUsage() == nil && c.Wait == nil {
		outcome.Usage = &turnv1.Usage{ToolCalls: 1}
	}
	if err := writeContent(tx, *t, step, outcome, c); err != nil {
		return nil, err
	}
	if c.Wait != nil && !t.CancelRequested {
		var err error
		if outcome.Wait, err = s.deps.Waits.Begin(tx, t, step, c.Wait); err != nil {
			return nil, err
		}
	}
	if err := s.applyOutcome(tx, t, step, outcome, c); err != nil {
		return nil, err
	}
	data, err := proto.Marshal(outcome)
	if err != nil {
		return nil, fmt.Errorf("outcome of step %s: %w", step.Key, err)
	}
	step.Done, step.Outcome, step.Used = true, data, usedBy(*t, outcome)
	if err := tx.SaveStep(tx.Context(), step); err != nil {
		return nil, err
	}
	if kind == turnv1.StepKind_STEP_KIND_INFER {
		if err := turn.MoveUnreadInput(tx, *t, outcome); err != nil {
			return nil, err
		}
	}
	if outcome.GetWait() != nil && c.Wait.GetChildTurnId() != "" {
		if err := s.deps.Children.Join(tx, t, outcome.GetWait().GetId()); err != nil {
			return nil, err
		}
	}
	out := &Committed{Outcome: outcome}
	if out.Inputs, err = turn.Inputs(tx, *t); err != nil {
		return nil, err
	}
	if c.Ending != nil {
		out.NextTurnID, err = s.deps.Turns.End(tx, t, effectiveEnding(*t, c.Ending))
	}
	return out, err
}

// usedBy returns what statistics know of the use of a step, as addUsage counts it. Steps that call nothing are left out.
func usedBy(t store.Turn, o *turnv1.StepOutcome) usagedb.Step {
	u, tool := o.GetUsage(), o.GetKind() == turnv1.StepKind_STEP_KIND_TOOL
	if !tool && !budget.CallsModel(o.GetKind()) {
		return usagedb.Step{}
	}
	used := usagedb.Step{
		EndTime: time.UnixMicro(o.GetCommittedMicros()), Input: int64(u.GetInputTokens()), Output: int64(u.GetOutputTokens()),
		Cost: u.GetCostMicros(), ModelCalls: int64(u.GetModelCalls()), ToolCalls: int64(u.GetToolCalls()), Failed: o.GetIsError(),
	}
	if !tool {
		used.Model, used.ModelCalls = t.Model, max(1, used.ModelCalls)
	}
	for _, a := range o.GetModelAttempts() { // the last one answered
		used.Model = a.GetModel()
	}
	return used
}

// effectiveEnding returns ending, or a cancelled one if a cancel was accepted after ending was computed.
func effectiveEnding(t store.Turn, ending *turnv1.Ending) *turnv1.Ending {
	if t.CancelRequested && ending.GetStatus() == turnv1.TurnStatus_TURN_STATUS_COMPLETED {
		return &turnv1.Ending{Status: turnv1.TurnStatus_TURN_STATUS_CANCELLED, StopReason: "cancelled"}
	}
	return ending
}

// applyOutcome writes what the outcome changes in the turn, then usage.updated and step.finished.
func (s *Service) applyOutcome(tx *journal.Tx, t *store.Turn, step store.Step, outcome *turnv1.StepOutcome, c Commit) error {
	switch step.Kind {
	case turnv1.StepKind_STEP_KIND_BEGIN:
		if err := pin(tx, t, store.Surface{Surface: outcome.GetSurface(), Tools: c.Tools, Agents: c.Agents}); err != nil {
			return err
		}
	case turnv1.StepKind_STEP_KIND_INFER, turnv1.StepKind_STEP_KIND_TOOL, turnv1.StepKind_STEP_KIND_SELECT, turnv1.StepKind_STEP_KIND_PLAN,
		turnv1.StepKind_STEP_KIND_COMPACT:
		addUsage(t, step.Kind, outcome.GetUsage())
		tx.KeepTurn(t)
		if err := s.deps.Budgets.Settle(tx, *t, step, outcome); err != nil {
			return err
		}
		if step.Kind == turnv1.StepKind_STEP_KIND_TOOL {
			break
		}
		e := &turnv1.Event{Data: &turnv1.Event_UsageUpdated{UsageUpdated: &turnv1.UsageUpdated{Usage: t.Usage}}}
		if _, err := tx.Append(journal.OfStep(*t, step), e); err != nil {
			return err
		}
	}
	_, err := tx.Append(journal.OfStep(*t, step), &turnv1.Event{Data: &turnv1.Event_StepFinished{StepFinished: &turnv1.StepFinished{
		Kind: stepkey.KindName(step.Kind), DurationMs: int32(c.Duration.Milliseconds()), Error: outcome.GetError(),
		ModelAttempts: outcome.GetModelAttempts(),
	}}})
	return err
}

// pin keeps what the turn may use from now on.
func pin(tx *journal.Tx, t *store.Turn, pinned store.Surface) error {
	surface := pinned.Surface
	if surface == nil { // the turn could not begin; it will be ended with an error
		return nil
	}
	t.Model, t.BlueprintRevision, t.Deadline = surface.GetModel(), surface.GetBlueprintRevision(), sqldb.Time(surface.GetDeadlineMicros())
	tx.KeepTurn(t)
	if err := budget.LimitTurn(tx, t, surface); err != nil {
		return err
	}
	return tx.AddSurface(tx.Context(), t.Tenant, t.ID, pinned)
}

// addUsage adds what a step used to the turn's totals. A model step counts as one call at least.
func addUsage(t *store.Turn, kind turnv1.StepKind, used *turnv1.Usage) {
	total := usage(*t)
	total.InputTokens += used.GetInputTokens()
	total.OutputTokens += used.GetOutputTokens()
	total.CachedInputTokens += used.GetCachedInputTokens()
	total.CacheWriteInputTokens += used.GetCacheWriteInputTokens()
	total.ReasoningTokens += used.GetReasoningTokens()
	total.CostMicros += used.GetCostMicros()
	total.Cost = money.Text(total.GetCostMicros())
	if kind != turnv1.StepKind_STEP_KIND_TOOL {
		total.ModelCalls += max(1, used.GetModelCalls())
	} else {
		total.ToolCalls += used.GetToolCalls()
	}
	t.Usage = total
}
