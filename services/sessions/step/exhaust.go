package step

import (
	"fmt"

	"google.golang.org/protobuf/proto"

	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/sessions/budget"
	"github.com/windlass-dev/windlass/services/sessions/journal"
	"github.com/windlass-dev/windlass/services/sessions/store"
	"github.com/windlass-dev/windlass/workflows/contract/stepkey"
)

// exhaust completes a step that does not fit into a budget: its outcome says so, and the turn ends with it.
func exhaust(tx *journal.Tx, t store.Turn, c Claim, over *turnv1.BudgetExhausted) (*turnv1.StepOutcome, error) {
	e := &turnv1.Event{Data: &turnv1.Event_BudgetExhausted{BudgetExhausted: over}}
	return unrun(tx, t, c, &turnv1.StepOutcome{Exhausted: over.GetUse()}, e)
}

// refuse completes a step that cannot run under the budgets of its turn: it has an error, and the turn fails with it.
func refuse(tx *journal.Tx, t store.Turn, c Claim, why *turnv1.TurnError) (*turnv1.StepOutcome, error) {
	e := &turnv1.Event{Data: &turnv1.Event_StepFinished{StepFinished: &turnv1.StepFinished{
		Kind: stepkey.KindName(c.Step.GetKind()), Error: why,
	}}}
	return unrun(tx, t, c, &turnv1.StepOutcome{Error: why}, e)
}

// unrun completes a step that no worker runs, with an event.
func unrun(tx *journal.Tx, t store.Turn, c Claim, outcome *turnv1.StepOutcome, e *turnv1.Event) (*turnv1.StepOutcome, error) {
	step := store.Step{
		Tenant: t.Tenant, TurnID: t.ID, Key: c.Step.GetKey(), Kind: c.Step.GetKind(), FirstSeq: tx.Session.LastSeq + 1,
		Owner: c.Owner, Fence: 1, Attempt: 1, Done: true, StartTime: tx.Now(),
	}
	outcome.Key, outcome.Kind, outcome.Cancelled, outcome.CommittedMicros = step.Key, step.Kind, t.CancelRequested, tx.Now().UnixMicro()
	var err error
	if step.Outcome, err = proto.Marshal(outcome); err != nil {
		return nil, fmt.Errorf("outcome of step %s: %w", step.Key, err)
	}
	step.Used.EndTime = tx.Now() // nothing was called, but its turn counts
	if _, err := tx.Append(journal.OfStep(t, step), e); err != nil {
		return nil, err
	}
	return outcome, tx.SaveStep(tx.Context(), step)
}

// countLost counts a model call whose worker was lost. What it used is unknown, and its reservation passes to the next attempt,
// so it counts for nothing else.
func countLost(t *store.Turn, step store.Step) {
	if step.Fence == 0 || step.Owner == "" || !budget.CallsModel(step.Kind) {
		return
	}
	total := usage(*t)
	total.LostCalls++
	t.Usage = total
}

// usage returns a copy of what a turn has used.
func usage(t store.Turn) *turnv1.Usage {
	if t.Usage == nil {
		return &turnv1.Usage{}
	}
	return proto.CloneOf(t.Usage)
}
