package sessions

import (
	"fmt"

	"google.golang.org/protobuf/proto"

	executionv1 "github.com/windlass-dev/windlass/proto/gen/windlass/execution/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/sessions/api/convert"
	"github.com/windlass-dev/windlass/services/sessions/budget"
	"github.com/windlass-dev/windlass/services/sessions/journal"
	"github.com/windlass-dev/windlass/services/sessions/store"
)

// exhaust completes a step that does not fit into a budget: its outcome says so, and the turn ends with it.
func exhaust(tx *journal.Tx, t store.Turn, req *executionv1.ClaimStepRequest, over *turnv1.BudgetExhausted) (*turnv1.StepOutcome, error) {
	step := store.Step{
		Tenant: t.Tenant, TurnID: t.ID, Key: req.GetStep().GetKey(), Kind: int32(req.GetStep().GetKind()), FirstSeq: tx.Session.LastSeq + 1,
		Owner: req.GetOwner(), Fence: 1, Attempt: 1, Done: true, StartedUs: tx.NowUs,
	}
	outcome := &turnv1.StepOutcome{
		Key: step.Key, Kind: req.GetStep().GetKind(), Exhausted: over.GetUse(), Cancelled: t.CancelRequested, CommittedMicros: tx.NowUs,
	}
	var err error
	if step.Outcome, err = proto.Marshal(outcome); err != nil {
		return nil, fmt.Errorf("outcome of step %s: %w", step.Key, err)
	}
	e := &turnv1.Event{Data: &turnv1.Event_BudgetExhausted{BudgetExhausted: over}}
	if _, err := tx.Append(journal.OfStep(t, step), e); err != nil {
		return nil, err
	}
	return outcome, tx.SaveStep(tx.Context(), step)
}

// countLost counts a model call whose worker was lost. What it used is unknown, and its reservation passes to the next attempt, so it counts for
// nothing else.
func countLost(t *store.Turn, step store.Step) error {
	if step.Fence == 0 || step.Owner == "" || !budget.CallsModel(turnv1.StepKind(step.Kind)) {
		return nil
	}
	total, err := convert.Usage(*t)
	if err != nil {
		return err
	}
	total.LostCalls++
	if t.Usage, err = proto.Marshal(total); err != nil {
		return fmt.Errorf("usage of turn %s: %w", t.ID, err)
	}
	return nil
}
