package budget

import (
	"math"

	"github.com/windlass-dev/windlass/libs/money"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/sessions/store/budgetdb"
	"github.com/windlass-dev/windlass/workflows/contract"
)

// MinOutput is how many tokens a model call under a limit can write at least; a step whose budget has room for fewer is refused.
const MinOutput = 64

// complaint is what a repeated call reads besides the answer that could not be parsed, in tokens.
const complaint = 64

// Estimate is what a model step may use.
type Estimate struct {
	contract.ModelCalls
	// Input is what one call reads, Output what it may write, in tokens.
	Input, Output int64
	// Price is the price of the tokens, nil when they cost nothing, or if it is not known. Fallbacks are those of the models that may be
	// called instead: the dearest counts.
	Price     *turnv1.Price
	Fallbacks []*turnv1.Price
	// Unpriced names a model whose price is not known; "" if there is none.
	Unpriced string
	// Learned corrects the estimate.
	Learned Ratio
}

// Verdict says whether a step may begin.
type Verdict int

const (
	// Admitted: it may begin.
	Admitted Verdict = iota
	// Waits: it fits, but not together with what other steps have reserved.
	Waits
	// Exhausted: it does not fit, whatever other steps hold.
	Exhausted
)

// Decision says whether a step may begin, and with what limits.
type Decision struct {
	Verdict Verdict
	// Output is what each call may write, at most Estimate.Output.
	Output int64
	// Budget is the index of the budget that decided, -1 when none did; Limit is the limit of it that did.
	Budget int
	Limit  Limit
}

// Decide admits a step to its budgets or not. While other steps hold a part of a budget, a step is admitted if its estimate,
// corrected by what was learned, fits into what they leave; otherwise it waits. A step that is alone is admitted if its plain
// estimate fits; its answer is then limited to the room there is. So a budget is passed by no more than what one call uses beyond
// its estimate.
func (s Estimate) Decide(budgets []budgetdb.Budget) Decision {
	d := Decision{Output: s.Output, Budget: -1}
	for i, b := range budgets {
		if b.Max.Tokens == 0 && b.Max.Cost == 0 {
			continue
		}
		room, limit := s.room(b.Max.Minus(b.Used), b.Max)
		switch alone := b.Reserved.Tokens <= 0 && b.Reserved.Cost <= 0; {
		case room < min(s.Output, MinOutput):
			return Decision{Verdict: Exhausted, Budget: i, Limit: limit}
		case !alone && !s.fitsBeside(b):
			d.Verdict, d.Budget, d.Limit = Waits, i, limit
		case d.Verdict == Admitted && alone && room < d.Output:
			d.Output, d.Budget, d.Limit = room, i, limit
		}
	}
	return d
}

// fitsBeside reports whether the whole step fits beside the reservations of other steps. Without a learned ratio it does not.
func (s Estimate) fitsBeside(b budgetdb.Budget) bool {
	need := s.Need(s.Output)
	free := b.Max.Minus(b.Used).Minus(b.Reserved)
	return s.Learned.Known() && (b.Max.Tokens == 0 || need.Tokens <= free.Tokens) && (b.Max.Cost == 0 || need.Cost <= free.Cost)
}

// Need returns what the step may use, corrected by what was learned, when each call may write output tokens.
func (s Estimate) Need(output int64) budgetdb.Amount {
	read := s.Learned.input(s.Calls*s.Input) + s.Reread*(s.Learned.output(output)+complaint)
	written := s.Calls * s.Learned.output(output)
	input, out := s.prices()
	return budgetdb.Amount{Tokens: read + written, Cost: money.Ceil(money.PerMillion(read, input) + money.PerMillion(written, out))}
}

// prices returns what a million tokens cost at most that a call of this size reads and writes, whichever model is called: the provider may
// store what it reads.
func (s Estimate) prices() (input, output int64) {
	for _, p := range append([]*turnv1.Price{s.Price}, s.Fallbacks...) {
		rates := contract.Rates(p, s.Learned.input(s.Input))
		input, output = max(input, rates.GetInputMicros(), rates.GetCacheWriteMicros()), max(output, rates.GetOutputMicros())
	}
	return input, output
}

// room returns how many tokens each call may write, by the plain estimate, for the step to fit into what is left, and the limit
// that decides. It is below 0 when not even the input fits.
func (s Estimate) room(left, limits budgetdb.Amount) (room int64, limit Limit) {
	room = math.MaxInt64
	read := s.Calls*s.Input + s.Reread*complaint
	if limits.Tokens > 0 {
		room, limit = (left.Tokens-read)/(s.Calls+s.Reread), LimitTokens
	}
	if limits.Cost == 0 {
		return room, limit
	}
	input, output := s.prices()
	rest := left.Cost*money.Unit - money.PerMillion(read, input)
	each := s.Calls*output + s.Reread*input
	switch {
	case rest < 0:
		return -1, LimitCost
	case each > 0 && rest/each < room:
		return rest / each, LimitCost
	}
	return room, limit
}
