package contract

import (
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/workflows/contract/stepkey"
)

// How often a step asks a model again because its answer could not be read.
const (
	PlanRepairs  = 1
	RouteRepairs = 1
	TextRepairs  = 2
	// OutputRepairs is of an answer that does not fit its schema.
	OutputRepairs = 1
)

// RouteStep is the number of the model step that chooses an agent under the strategy route.
const RouteStep = 1

// ModelCalls bounds the model calls of one step.
type ModelCalls struct {
	// Calls is how many there are at most.
	Calls int64
	// Reread is how many answers of earlier calls the later ones read again, each counted once for each call that reads it.
	Reread int64
}

// ModelCallsOf bounds the model calls of a step of a turn. A call that the provider refuses because its prompt is too long counts for
// nothing.
func ModelCallsOf(ref *turnv1.StepRef, surface *turnv1.Surface) ModelCalls {
	strategy := surface.GetStrategy()
	if ref.GetStrategy() != turnv1.Strategy_STRATEGY_UNSPECIFIED {
		strategy = ref.GetStrategy()
	}
	switch kind := ref.GetKind(); {
	case kind == turnv1.StepKind_STEP_KIND_PLAN:
		return repaired(PlanRepairs)
	case kind != turnv1.StepKind_STEP_KIND_INFER:
		return ModelCalls{Calls: 1}
	case strategy == turnv1.Strategy_STRATEGY_REACT_TEXT:
		return repaired(TextRepairs)
	case strategy == turnv1.Strategy_STRATEGY_ROUTE && ref.GetKey() == stepkey.Infer(RouteStep):
		calls := repaired(RouteRepairs)
		calls.Calls++ // when no agent fits, the model answers
		return calls
	case surface.GetStructuredOutput():
		return repaired(OutputRepairs)
	}
	return ModelCalls{Calls: 1}
}

// repaired is a call that is repeated up to n times, each time with all answers before it.
func repaired(n int64) ModelCalls { return ModelCalls{Calls: n + 1, Reread: n * (n + 1) / 2} }
