package sessions

import (
	"errors"
	"fmt"
	"math"

	"google.golang.org/protobuf/proto"

	"github.com/windlass-dev/windlass/libs/money"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/sessions/journal"
	"github.com/windlass-dev/windlass/services/sessions/store"
)

// minOutput is the least a model step under a limit must be able to write: fewer tokens are no answer.
const minOutput = 64

// How often one step may ask the model, see the step runner: answers that cannot be read are asked for again.
const (
	planCalls = 2
	textCalls = 3
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

// modelCalls is how many model calls a step may make.
func modelCalls(ref *turnv1.StepRef, surface *turnv1.Surface) int64 {
	switch ref.GetKind() {
	case turnv1.StepKind_STEP_KIND_PLAN:
		return planCalls
	case turnv1.StepKind_STEP_KIND_INFER:
		strategy := surface.GetStrategy()
		if ref.GetStrategy() != turnv1.Strategy_STRATEGY_UNSPECIFIED {
			strategy = ref.GetStrategy()
		}
		if strategy == turnv1.Strategy_STRATEGY_REACT_TEXT {
			return textCalls
		}
	}
	return 1
}

// reserve takes what a step that is claimed for the first time may use out of the budgets of its turn. It gives the tokens that a model step may
// write, 0 when no limit says so, and what is in the way when the step does not fit.
func (s *Service) reserve(tx *journal.Tx, t store.Turn, ref *turnv1.StepRef) (int64, *turnv1.BudgetExhausted, error) {
	if !spends(ref.GetKind()) {
		return 0, nil, nil
	}
	budgets, err := lockBudgets(tx, t)
	if err != nil || len(budgets) == 0 {
		return 0, nil, err
	}
	if ref.GetKind() == turnv1.StepKind_STEP_KIND_TOOL {
		over, err := reserveCall(tx, t, ref.GetKey(), budgets)
		return 0, over, err
	}
	data, err := tx.PinnedSurface(tx.Context(), t.Tenant, t.ID)
	if errors.Is(err, store.ErrNotFound) { // a turn that did not begin: it can only end
		return 0, nil, nil
	}
	if err != nil {
		return 0, nil, err
	}
	surface := &turnv1.Surface{}
	if err := proto.Unmarshal(data, surface); err != nil {
		return 0, nil, fmt.Errorf("surface of turn %s: %w", t.ID, err)
	}
	plan := modelPlan{calls: modelCalls(ref, surface), price: surface.GetPrice(), output: int64(surface.GetMaxOutputTokens())}
	if plan.output == 0 {
		plan.output = int64(s.cfg.ReserveOutputTokens)
	}
	if plan.input, err = promptTokens(tx, t, surface); err != nil {
		return 0, nil, err
	}
	return plan.reserve(tx, t, ref.GetKey(), budgets)
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

// modelPlan is what a model step may use: so many calls that read and write so many tokens each, at a price.
type modelPlan struct {
	calls, input, output int64
	price                *turnv1.Price
}

// cost is what the step costs if each call writes so much.
func (p modelPlan) cost(output int64) int64 {
	return p.calls * money.Ceil(money.PerMillion(p.input, p.price.GetInputMicros())+money.PerMillion(output, p.price.GetOutputMicros()))
}

// room is how many tokens each call may write so that the step fits in what a budget leaves, below 0 when not even its input fits. what is the
// limit that says so.
func (p modelPlan) room(b store.Budget) (room int64, what string) {
	room = math.MaxInt64
	if b.Max.Tokens > 0 {
		room, what = (b.Max.Tokens-b.Used.Tokens-b.Reserved.Tokens)/p.calls-p.input, limitTokens
	}
	if b.Max.Cost == 0 {
		return room, what
	}
	left := (b.Max.Cost-b.Used.Cost-b.Reserved.Cost)/p.calls*money.Unit - money.PerMillion(p.input, p.price.GetInputMicros())
	switch output := p.price.GetOutputMicros(); {
	case left < 0:
		return -1, limitCost
	case output > 0 && left/output < room:
		return left / output, limitCost
	}
	return room, what
}

// reserve takes the step out of the budgets that limit tokens or cost. An answer is cut as short as it has to be to fit.
func (p modelPlan) reserve(tx *journal.Tx, t store.Turn, step string, budgets []store.Budget) (int64, *turnv1.BudgetExhausted, error) {
	output, tightest, what := p.output, -1, ""
	for i, b := range budgets {
		if room, limit := p.room(b); room < output {
			output, tightest, what = room, i, limit
		}
	}
	if output < min(p.output, minOutput) {
		return 0, exhausted(budgets[tightest], what), nil
	}
	limited := false
	for i, b := range budgets {
		h := store.Hold{Tenant: t.Tenant, TurnID: t.ID, Step: step, BudgetID: b.ID, MaxOutput: output}
		if i == tightest {
			h.Bound = what
		}
		if b.Max.Tokens > 0 {
			h.Tokens = p.calls * (p.input + output)
		}
		if b.Max.Cost > 0 {
			h.Cost = p.cost(output)
		}
		if b.Max.Tokens == 0 && b.Max.Cost == 0 {
			continue
		}
		limited = true
		if err := hold(tx, b, h); err != nil {
			return 0, nil, err
		}
	}
	if !limited {
		return 0, nil, nil
	}
	return output, nil, nil
}

// afford answers a claim of a step, as far as budgets are concerned: see reserve. What an earlier attempt has reserved is there for the next one.
func (s *Service) afford(tx *journal.Tx, t store.Turn, step store.Step, ref *turnv1.StepRef) (int64, *turnv1.BudgetExhausted, error) {
	if step.Fence == 0 {
		return s.reserve(tx, t, ref)
	}
	output, err := held(tx, t, step.Key)
	return output, nil, err
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
