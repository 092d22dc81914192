package plan_test

import (
	"testing"

	executionv1 "github.com/windlass-dev/windlass/proto/gen/windlass/execution/v1"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/workflows/contract"
	"github.com/windlass-dev/windlass/workflows/turn/step/steptest"
	"github.com/windlass-dev/windlass/workflows/turn/turntest"
)

// TestAStepMakesNoMoreCallsThanItReserves: a model whose answers cannot be read is asked as often as budgets know, and not more.
func TestAStepMakesNoMoreCallsThanItReserves(t *testing.T) {
	const route, unreadable = turnv1.Strategy_STRATEGY_ROUTE, "Action: none of them"
	for _, row := range []struct {
		name     string
		strategy turnv1.Strategy
		says     []string
		most     int64 // calls of one step
	}{
		{"react in text", reactText, []string{unreadable}, 3},
		{"plan", planFirst, []string{unreadable}, 2},
		{"select", automatic, []string{unreadable}, 1},
		{"route that cannot be read", route, []string{unreadable}, 3},
		{"route to none", route, []string{unreadable, `{"agent":"none","reason":"no agent fits"}`, "an answer"}, 3},
		{"route that was selected", automatic, []string{`{"strategy":"route","reason":"one agent fits"}`, unreadable}, 3},
	} {
		t.Run(row.name, func(t *testing.T) {
			w := steptest.New(t, &sessionsv1.Agent{Strategy: row.strategy, Tools: []string{"*"}}, turntest.Tool("x__echo"))
			w.Journal.Offer(in.TurnID, &executionv1.AgentTool{Name: "agent__billing", AgentId: "billing", Description: "invoices"})
			w.Model(steptest.Texts(row.says...))
			most := int64(0)
			w.Each(func(ref *turnv1.StepRef, o *turnv1.StepOutcome) {
				made, reserved := int64(o.GetUsage().GetModelCalls()), contract.ModelCallsOf(ref, &turnv1.Surface{Strategy: row.strategy}).Calls
				if made > reserved {
					t.Errorf("step %s made %d calls, %d are reserved", ref.GetKey(), made, reserved)
				}
				most = max(most, made)
			})
			if most != row.most {
				t.Errorf("a step made %d calls at most, want %d", most, row.most)
			}
		})
	}
}
