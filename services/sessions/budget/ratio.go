package budget

import turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"

const (
	perMille = 1000
	// maxRatio bounds what is learned: a call that uses a thousand times its estimate was counted wrongly.
	maxRatio = 1000 * perMille
	// decay is the divisor of the distance by which a ratio falls towards a lower one in one step.
	decay = 8
)

// Ratio is how many tokens calls have used for each thousand of their estimate. The zero value has learned nothing.
type Ratio struct {
	// Input is for what they read; Output for what they wrote, against what they were allowed to.
	Input, Output int64
}

// Known reports whether anything was learned.
func (r Ratio) Known() bool { return r.Input > 0 }

func (r Ratio) input(tokens int64) int64  { return tokens * max(r.Input, perMille) / perMille }
func (r Ratio) output(tokens int64) int64 { return tokens * max(r.Output, perMille) / perMille }

// Learn returns the ratio after the calls of a step, each of which was estimated to read prompt tokens and allowed to write most.
// A ratio rises at once to what was seen and falls an eighth of the way. It is never below one: estimates are meant to be too
// high.
func (r Ratio) Learn(prompt, most int64, used *turnv1.Usage) Ratio {
	calls := int64(max(used.GetModelCalls(), 1))
	written := int64(used.GetOutputTokens())
	return Ratio{
		Input:  learn(r.Input, int64(used.GetInputTokens()), calls*prompt+(calls-1)*written),
		Output: learn(r.Output, written, calls*most),
	}
}

func learn(known, used, estimate int64) int64 {
	seen := int64(perMille)
	if estimate > 0 {
		seen = min(max(used*perMille/estimate, perMille), maxRatio)
	}
	if seen >= known {
		return seen
	}
	return known - (known-seen+decay-1)/decay
}
