// Package reserve computes what a model step takes out of budgets before it begins, and whether it may begin now.
package reserve

import (
	"math"

	"github.com/windlass-dev/windlass/libs/money"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/sessions/store"
	"github.com/windlass-dev/windlass/workflows/contract"
)

// Kinds of limits, as events name them.
const (
	Tokens = "tokens"
	Cost   = "cost"
)

// MinOutput is the least that a model call under a limit must be able to write: fewer tokens are no answer.
const MinOutput = 64

// complaint is what a repeated call reads besides the answer that could not be read, in tokens.
const complaint = 64

// Step is what a model step may use, by estimate.
type Step struct {
	contract.ModelCalls
	// Input is what one call reads, Output what it may write, in tokens.
	Input, Output int64
	// Price is that of the tokens, nil when they cost nothing.
	Price *turnv1.Price
	// Learned corrects the estimate.
	Learned Ratio
}

// Verdict says whether a step may begin.
type Verdict int

const (
	// Admitted: it may.
	Admitted Verdict = iota
	// Waits: it fits, but not beside what other steps have reserved.
	Waits
	// Exhausted: it does not fit, whatever others hold.
	Exhausted
)

// Decision is what becomes of a step.
type Decision struct {
	Verdict Verdict
	// Output is what each call may write, at most Step.Output.
	Output int64
	// Budget is the index of the budget that decided, -1 when none did; Limit is the limit of it that did.
	Budget int
	Limit  string
}

// Decide says what becomes of a step under some budgets. Beside others it begins when all that it may use, by what was learned, fits in what they
// leave. What does not fit there begins when it is alone: then the plain estimate counts, its answer is cut as short as it has to be, and what one
// call uses beyond the estimate is the most by which a budget is passed.
func (s Step) Decide(budgets []store.Budget) Decision {
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

// fitsBeside tells whether the whole step fits in what others leave of a budget. Before anything was learned nobody can tell.
func (s Step) fitsBeside(b store.Budget) bool {
	need := s.Need(s.Output)
	free := b.Max.Minus(b.Used).Minus(b.Reserved)
	return s.Learned.Known() && (b.Max.Tokens == 0 || need.Tokens <= free.Tokens) && (b.Max.Cost == 0 || need.Cost <= free.Cost)
}

// Need is what the step may use by what was learned when each call may write so much.
func (s Step) Need(output int64) store.Amount {
	read := s.Learned.input(s.Calls*s.Input) + s.Reread*(s.Learned.output(output)+complaint)
	written := s.Calls * s.Learned.output(output)
	return store.Amount{
		Tokens: read + written,
		Cost:   money.Ceil(money.PerMillion(read, s.Price.GetInputMicros()) + money.PerMillion(written, s.Price.GetOutputMicros())),
	}
}

// room is how many tokens each call may write by the plain estimate so that the step fits in what is left, below 0 when not even its input fits;
// limit is the limit that says so.
func (s Step) room(left, limits store.Amount) (room int64, limit string) {
	room = math.MaxInt64
	read := s.Calls*s.Input + s.Reread*complaint
	if limits.Tokens > 0 {
		room, limit = (left.Tokens-read)/(s.Calls+s.Reread), Tokens
	}
	if limits.Cost == 0 {
		return room, limit
	}
	rest := left.Cost*money.Unit - money.PerMillion(read, s.Price.GetInputMicros())
	each := s.Calls*s.Price.GetOutputMicros() + s.Reread*s.Price.GetInputMicros()
	switch {
	case rest < 0:
		return -1, Cost
	case each > 0 && rest/each < room:
		return rest / each, Cost
	}
	return room, limit
}
