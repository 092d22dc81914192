package engine

import (
	"fmt"

	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/workflows/contract/stepkey"
)

// record holds the outcomes of a turn, by key.
type record struct {
	all           []*turnv1.StepOutcome
	begin, finish *turnv1.StepOutcome
	infers        []*turnv1.StepOutcome
	byKey         map[string]*turnv1.StepOutcome
}

func read(outcomes []*turnv1.StepOutcome) record {
	t := record{all: outcomes, byKey: make(map[string]*turnv1.StepOutcome, len(outcomes))}
	for _, o := range outcomes {
		t.byKey[o.GetKey()] = o
	}
	t.begin, t.finish = t.byKey[stepkey.Begin], t.byKey[stepkey.Finish]
	for {
		o, ok := t.byKey[stepkey.Infer(len(t.infers)+1)]
		if !ok {
			return t
		}
		t.infers = append(t.infers, o)
	}
}

func (t record) surface() *turnv1.Surface { return t.begin.GetSurface() }

// last returns the newest model step, nil before the first.
func (t record) last() *turnv1.StepOutcome {
	if len(t.infers) == 0 {
		return nil
	}
	return t.infers[len(t.infers)-1]
}

// tokens returns the input and output tokens of all model calls.
func (t record) tokens() int64 {
	var sum int64
	for _, o := range t.all {
		sum += int64(o.GetUsage().GetInputTokens()) + int64(o.GetUsage().GetOutputTokens())
	}
	return sum
}

// repeats returns the length of the longest run of identical tool calls, in the order in which the model asked for them.
func (t record) repeats() int {
	longest, run, before := 0, 0, ""
	for n, o := range t.infers {
		for m, call := range o.GetCalls() {
			hash := call.GetCallHash()
			if hash == "" { // from a worker that did not record it before the call
				hash = t.result(stepkey.Tool(n+1, m)).GetCallHash()
			}
			switch {
			case hash == "":
				continue // not run yet, or rejected before the call
			case hash == before:
				run++
			default:
				run, before = 1, hash
			}
			longest = max(longest, run)
		}
	}
	return longest
}

// inferRef returns the next model step.
func (t record) inferRef() *turnv1.StepRef {
	n := len(t.infers) + 1
	ref := &turnv1.StepRef{Key: stepkey.Infer(n), Kind: turnv1.StepKind_STEP_KIND_INFER, Title: fmt.Sprintf("infer #%d", n)}
	if t.surface().GetStrategy() == turnv1.Strategy_STRATEGY_AUTO {
		ref.Strategy = t.strategy()
	}
	return ref
}
