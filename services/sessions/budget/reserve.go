package budget

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"google.golang.org/protobuf/proto"

	"github.com/windlass-dev/windlass/libs/fault"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/sessions/journal"
	"github.com/windlass-dev/windlass/services/sessions/store"
	"github.com/windlass-dev/windlass/services/sessions/store/budgetdb"
	"github.com/windlass-dev/windlass/workflows/contract"
)

// promptOverhead is added to the estimate of a prompt for what stands between its parts, in tokens.
const promptOverhead = 16

// counts reports whether steps of a kind use what budgets limit: model calls or tool calls.
func counts(kind turnv1.StepKind) bool {
	return kind == turnv1.StepKind_STEP_KIND_TOOL || CallsModel(kind)
}

// CallsModel reports whether steps of a kind call a model.
func CallsModel(kind turnv1.StepKind) bool {
	switch kind {
	case turnv1.StepKind_STEP_KIND_SELECT, turnv1.StepKind_STEP_KIND_PLAN, turnv1.StepKind_STEP_KIND_INFER, turnv1.StepKind_STEP_KIND_COMPACT:
		return true
	default:
		return false
	}
}

// Reservation is what a claim of a step gets of the budgets of its turn.
type Reservation struct {
	// MaxOutput is how many tokens a model call may write, 0 when no limit says so.
	MaxOutput int64
	// Exhausted is the limit that the step does not fit into, nil if it may begin or wait.
	Exhausted *turnv1.BudgetExhausted
	// Warnings are to be appended when the step has started: the limits of which the part to warn at was passed by its tool call.
	Warnings []*turnv1.BudgetWarning
	// Refused is why the step cannot run under the budgets at all, nil if it can.
	Refused *turnv1.TurnError
	// WaitsFor is the id of the budget that the step fits into, but not together with what other steps hold; else "".
	WaitsFor string
}

// Reserve takes what a step may use out of the budgets of its turn. A step that was claimed before keeps what its earlier attempt
// has reserved. step is the zero value at the first claim. The turn's session must be locked.
func (s *Service) Reserve(tx *journal.Tx, t store.Turn, step store.Step, ref *turnv1.StepRef) (Reservation, error) {
	if step.Fence == 0 {
		return s.reserve(tx, t, ref)
	}
	output, err := heldOutput(tx, t, step.Key)
	return Reservation{MaxOutput: output}, err
}

func (s *Service) reserve(tx *journal.Tx, t store.Turn, ref *turnv1.StepRef) (Reservation, error) {
	if !counts(ref.GetKind()) {
		return Reservation{}, nil
	}
	budgets, err := lock(tx, t)
	if err != nil || len(budgets) == 0 {
		return Reservation{}, err
	}
	if ref.GetKind() == turnv1.StepKind_STEP_KIND_TOOL {
		if contract.Sent(ref.GetWait().GetKind()) {
			return Reservation{}, nil // an earlier round has counted the call
		}
		return reserveCall(tx, t, ref.GetKey(), budgets)
	}
	step, err := s.estimate(tx, t, ref)
	if err != nil || step.Calls == 0 {
		return Reservation{}, err
	}
	if i := slices.IndexFunc(budgets, func(b budgetdb.Budget) bool { return b.Max.Cost > 0 }); step.Unpriced != "" && i >= 0 {
		return Reservation{Refused: unpriced(step.Unpriced, budgets[i])}, nil
	}
	d := step.Decide(budgets)
	switch {
	case d.Verdict == Exhausted:
		return Reservation{Exhausted: d.Limit.exhausted(budgets[d.Budget])}, nil
	case d.Verdict == Waits && !t.CancelRequested && (t.Deadline.IsZero() ||
		tx.Now().Before(t.Deadline)): // a turn that is over calls no model
		return Reservation{WaitsFor: budgets[d.Budget].ID}, nil
	}
	return reserveTokens(tx, t, ref.GetKey(), step, d, budgets)
}

// unpriced is the error of a model call whose cost a budget limits and nothing says.
func unpriced(model string, b budgetdb.Budget) *turnv1.TurnError {
	limit := fmt.Sprintf("the budget %s of the %s limits money", b.ID, b.Scope)
	if b.Scope == budgetdb.ScopeTurn {
		limit = "limits.max_cost of the turn is set"
	}
	f := fault.FailedPrecondition(faultv1.Reason_REASON_MODEL_UNPRICED, "%s has no price, and %s", model, limit).
		Hint("Set its price in inference.prices (0 if it costs nothing), use a model with a price, or limit tokens.")
	return &turnv1.TurnError{Code: fault.CodeName(f.Reason), Message: f.Text()}
}

// unpricedOf returns the first model of a turn that has no price.
func unpricedOf(surface *turnv1.Surface, model string) string {
	if surface.GetPrice() != nil {
		for _, f := range surface.GetFallbacks() {
			if f.GetPrice() == nil {
				return f.GetModel()
			}
		}
	}
	return cmp.Or(surface.GetModel(), model)
}

// estimate returns what a model step may use. It is the zero value for a turn that has not begun: such a turn can only end.
func (s *Service) estimate(tx *journal.Tx, t store.Turn, ref *turnv1.StepRef) (Estimate, error) {
	data, err := tx.PinnedSurface(tx.Context(), t.Tenant, t.ID)
	if errors.Is(err, store.ErrNotFound) {
		return Estimate{}, nil
	}
	if err != nil {
		return Estimate{}, err
	}
	surface := &turnv1.Surface{}
	if err := proto.Unmarshal(data, surface); err != nil {
		return Estimate{}, fmt.Errorf("surface of turn %s: %w", t.ID, err)
	}
	e := Estimate{
		ModelCalls: contract.ModelCallsOf(ref, surface), Price: surface.GetPrice(), Output: int64(surface.GetMaxOutputTokens()),
	}
	for _, f := range surface.GetFallbacks() {
		e.Fallbacks = append(e.Fallbacks, f.GetPrice())
	}
	if surface.GetUnpriced() {
		e.Unpriced = unpricedOf(surface, t.Model)
	}
	if e.Output == 0 {
		e.Output = s.deps.OutputTokens
	}
	conversation, err := s.deps.Prompts.ConversationTokens(tx, t)
	if err != nil {
		return Estimate{}, err
	}
	e.Input = int64(surface.GetPromptTokens()) + promptOverhead + conversation
	e.Learned.Input, e.Learned.Output, err = tx.ModelRatio(tx.Context(), t.Tenant, t.AgentID, t.Model)
	return e, err
}

// reserveTokens reserves an admitted model step in the budgets that limit tokens or cost.
func reserveTokens(tx *journal.Tx, t store.Turn, key string, step Estimate, d Decision, budgets []budgetdb.Budget) (Reservation, error) {
	var out Reservation
	need := step.Need(d.Output)
	for i, b := range budgets {
		if b.Max.Tokens == 0 && b.Max.Cost == 0 {
			continue
		}
		h := budgetdb.Hold{Tenant: t.Tenant, TurnID: t.ID, Step: key, BudgetID: b.ID, Prompt: step.Input, MaxOutput: d.Output}
		if i == d.Budget {
			h.Bound = string(d.Limit)
		}
		if b.Max.Tokens > 0 {
			h.Tokens = need.Tokens
		}
		if b.Max.Cost > 0 {
			h.Cost = need.Cost
		}
		out.MaxOutput = d.Output
		if err := hold(tx, b, h); err != nil {
			return out, err
		}
	}
	return out, nil
}

// reserveCall reserves one tool call, if all limits leave room for it.
func reserveCall(tx *journal.Tx, t store.Turn, step string, budgets []budgetdb.Budget) (Reservation, error) {
	var out Reservation
	for _, b := range budgets {
		if b.Max.Calls > 0 && b.Used.Calls+b.Reserved.Calls+1 > b.Max.Calls {
			out.Exhausted = LimitCalls.exhausted(b)
			return out, nil
		}
	}
	for _, b := range budgets {
		if b.Max.Calls == 0 {
			continue
		}
		h := budgetdb.Hold{Tenant: t.Tenant, TurnID: t.ID, Step: step, BudgetID: b.ID, Amount: budgetdb.Amount{Calls: 1}}
		if err := hold(tx, b, h); err != nil {
			return out, err
		}
		before := b.Used.Plus(b.Reserved)
		b.Reserved = b.Reserved.Plus(h.Amount)
		if LimitCalls.warns(b, before, b.Used.Plus(b.Reserved)) {
			out.Warnings = append(out.Warnings, LimitCalls.warning(b))
		}
	}
	return out, nil
}

// hold stores what a step holds of a locked budget.
func hold(tx *journal.Tx, b budgetdb.Budget, h budgetdb.Hold) error {
	b.Reserved = b.Reserved.Plus(h.Amount)
	if err := tx.SaveBudget(tx.Context(), b); err != nil {
		return err
	}
	return tx.AddHold(tx.Context(), h)
}

// heldOutput returns how many tokens a model step may write by what its earlier attempt has reserved, 0 when no limit says so.
func heldOutput(tx *journal.Tx, t store.Turn, step string) (int64, error) {
	if !t.Budgeted {
		return 0, nil
	}
	holds, err := tx.Holds(tx.Context(), t.Tenant, t.ID, step)
	output := int64(0)
	for _, h := range holds {
		output = max(output, h.MaxOutput) // it is the same in all that limit tokens or cost
	}
	return output, err
}
