package sessions

import (
	"errors"
	"fmt"

	"google.golang.org/protobuf/proto"

	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/sessions/journal"
	"github.com/windlass-dev/windlass/services/sessions/reserve"
	"github.com/windlass-dev/windlass/services/sessions/store"
	"github.com/windlass-dev/windlass/workflows/contract"
)

// spends tells whether steps of a kind use what budgets limit: model calls and tool calls.
func spends(kind turnv1.StepKind) bool {
	switch kind {
	case turnv1.StepKind_STEP_KIND_SELECT, turnv1.StepKind_STEP_KIND_PLAN, turnv1.StepKind_STEP_KIND_INFER, turnv1.StepKind_STEP_KIND_TOOL,
		turnv1.StepKind_STEP_KIND_COMPACT:
		return true
	default:
		return false
	}
}

// reservation is what a claim gets of the budgets of its turn.
type reservation struct {
	// output is how many tokens a model call may write, 0 when no limit says so.
	output int64
	// over is the limit that the step does not fit in; waits the budget that it fits in, but not beside what others hold.
	over  *turnv1.BudgetExhausted
	waits string
}

// reserve takes what a step that is claimed for the first time may use out of the budgets of its turn.
func (s *Service) reserve(tx *journal.Tx, t store.Turn, ref *turnv1.StepRef) (reservation, error) {
	if !spends(ref.GetKind()) {
		return reservation{}, nil
	}
	budgets, err := lockBudgets(tx, t)
	if err != nil || len(budgets) == 0 {
		return reservation{}, err
	}
	if ref.GetKind() == turnv1.StepKind_STEP_KIND_TOOL {
		if contract.Sent(ref.GetWait().GetKind()) {
			return reservation{}, nil // an earlier round has counted the call
		}
		over, err := reserveCall(tx, t, ref.GetKey(), budgets)
		return reservation{over: over}, err
	}
	step, err := s.estimate(tx, t, ref)
	if err != nil || step.Calls == 0 {
		return reservation{}, err
	}
	d := step.Decide(budgets)
	switch {
	case d.Verdict == reserve.Exhausted:
		return reservation{over: exhausted(budgets[d.Budget], d.Limit)}, nil
	case d.Verdict == reserve.Waits && !t.CancelRequested && (t.DeadlineUs == 0 || tx.NowUs < t.DeadlineUs): // one that is over asks no model
		return reservation{waits: budgets[d.Budget].ID}, nil
	}
	return takeTokens(tx, t, ref.GetKey(), step, d, budgets)
}

// estimate says what a model step may use. It is the zero value for a turn that did not begin: that can only end.
func (s *Service) estimate(tx *journal.Tx, t store.Turn, ref *turnv1.StepRef) (reserve.Step, error) {
	data, err := tx.PinnedSurface(tx.Context(), t.Tenant, t.ID)
	if errors.Is(err, store.ErrNotFound) {
		return reserve.Step{}, nil
	}
	if err != nil {
		return reserve.Step{}, err
	}
	surface := &turnv1.Surface{}
	if err := proto.Unmarshal(data, surface); err != nil {
		return reserve.Step{}, fmt.Errorf("surface of turn %s: %w", t.ID, err)
	}
	step := reserve.Step{
		ModelCalls: contract.ModelCallsOf(ref, surface.GetStrategy()), Price: surface.GetPrice(), Output: int64(surface.GetMaxOutputTokens()),
	}
	or(&step.Output, int64(s.cfg.ReserveOutputTokens))
	if step.Input, err = promptTokens(tx, t, surface); err != nil {
		return step, err
	}
	step.Learned.Input, step.Learned.Output, err = tx.ModelRatio(tx.Context(), t.Tenant, t.AgentID, t.Model)
	return step, err
}

// takeTokens takes a model step that was admitted out of the budgets that limit tokens or cost.
func takeTokens(tx *journal.Tx, t store.Turn, key string, step reserve.Step, d reserve.Decision, budgets []store.Budget) (reservation, error) {
	var out reservation
	need := step.Need(d.Output)
	for i, b := range budgets {
		if b.Max.Tokens == 0 && b.Max.Cost == 0 {
			continue
		}
		h := store.Hold{Tenant: t.Tenant, TurnID: t.ID, Step: key, BudgetID: b.ID, Prompt: step.Input, MaxOutput: d.Output}
		if i == d.Budget {
			h.Bound = d.Limit
		}
		if b.Max.Tokens > 0 {
			h.Tokens = need.Tokens
		}
		if b.Max.Cost > 0 {
			h.Cost = need.Cost
		}
		out.output = d.Output
		if err := hold(tx, b, h); err != nil {
			return out, err
		}
	}
	return out, nil
}

// reserveCall takes one tool call.
func reserveCall(tx *journal.Tx, t store.Turn, step string, budgets []store.Budget) (*turnv1.BudgetExhausted, error) {
	for _, b := range budgets {
		if b.Max.Calls > 0 && b.Used.Calls+b.Reserved.Calls+1 > b.Max.Calls {
			return exhausted(b, limitCalls), nil
		}
	}
	for _, b := range budgets {
		if b.Max.Calls == 0 {
			continue
		}
		if err := hold(tx, b, store.Hold{Tenant: t.Tenant, TurnID: t.ID, Step: step, BudgetID: b.ID, Amount: store.Amount{Calls: 1}}); err != nil {
			return nil, err
		}
	}
	return nil, nil
}

// hold stores what a step holds of a locked budget.
func hold(tx *journal.Tx, b store.Budget, h store.Hold) error {
	b.Reserved = b.Reserved.Plus(h.Amount)
	if err := tx.SaveBudget(tx.Context(), b); err != nil {
		return err
	}
	return tx.AddHold(tx.Context(), h)
}

func exhausted(b store.Budget, what string) *turnv1.BudgetExhausted {
	return &turnv1.BudgetExhausted{Use: limitUse(b, what), Reserved: part(b.Reserved, what)}
}

// afford answers a claim of a step, as far as budgets are concerned: see reserve. What an earlier attempt has reserved is there for the next one.
func (s *Service) afford(tx *journal.Tx, t store.Turn, step store.Step, ref *turnv1.StepRef) (reservation, error) {
	if step.Fence == 0 {
		return s.reserve(tx, t, ref)
	}
	output, err := held(tx, t, step.Key)
	return reservation{output: output}, err
}

// held is what an earlier attempt of a step has reserved for the next one too: the tokens that a model step may write.
func held(tx *journal.Tx, t store.Turn, step string) (int64, error) {
	if !t.Budgeted {
		return 0, nil
	}
	holds, err := tx.Holds(tx.Context(), t.Tenant, t.ID, step)
	output := int64(0)
	for _, h := range holds {
		output = max(output, h.MaxOutput) // the same in all that limit what it writes
	}
	return output, err
}

// countLost counts a model call whose worker was lost. What it used nobody knows, and its reservation is the next attempt's, so that it counts
// for nothing else.
func countLost(t *store.Turn, step store.Step) error {
	kind := turnv1.StepKind(step.Kind)
	if step.Fence == 0 || step.Owner == "" || !spends(kind) || kind == turnv1.StepKind_STEP_KIND_TOOL {
		return nil
	}
	total, err := usageOf(*t)
	if err != nil {
		return err
	}
	total.LostCalls++
	if t.Usage, err = proto.Marshal(total); err != nil {
		return fmt.Errorf("usage of turn %s: %w", t.ID, err)
	}
	return nil
}

// exhaust has a step that does not fit done at once: its outcome says so, and the turn ends with it.
func exhaust(tx *journal.Tx, t store.Turn, req *sessionsv1.ClaimStepRequest, over *turnv1.BudgetExhausted) (*turnv1.StepOutcome, error) {
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
	if _, err := tx.Append(stepOrigin(t, step), e); err != nil {
		return nil, err
	}
	return outcome, tx.SaveStep(tx.Context(), step)
}
