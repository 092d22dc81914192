package step_test

import (
	"testing"

	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/workflows/contract"
	"github.com/windlass-dev/windlass/workflows/turn/turntest"
)

// TestAStepMakesNoMoreCallsThanItReserves: a model whose answers can never be read is asked as often as budgets know.
func TestAStepMakesNoMoreCallsThanItReserves(t *testing.T) {
	for _, strategy := range []turnv1.Strategy{reactText, planFirst, automatic} {
		w := newWorld(t, &sessionsv1.Agent{Strategy: strategy, Tools: []string{"*"}}, turntest.Tool("x__echo"))
		w.Model(texts("Action: none of them"))
		for _, o := range w.walk() {
			ref := &turnv1.StepRef{Key: o.GetKey(), Kind: o.GetKind()}
			if made, most := int64(o.GetUsage().GetModelCalls()), contract.ModelCallsOf(ref, strategy).Calls; made > most {
				t.Errorf("%v: step %s made %d calls, %d are reserved", strategy, o.GetKey(), made, most)
			}
		}
	}
}
