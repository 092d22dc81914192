package executor_test

import (
	"math"
	"testing"
	"time"

	"github.com/windlass-dev/windlass/libs/testwant"
	"github.com/windlass-dev/windlass/workflows/turn/executor"
)

// TestWhatIsLeft: a program that tells of more than is left is ended after its grace time, also one that will not go; what it
// said and used stays.
func TestWhatIsLeft(t *testing.T) {
	for name, row := range map[string]struct {
		mode   string
		left   executor.Left
		finish string
		calls  int
	}{
		"more than its money":  {"spends", executor.Left{LimitedCost: true, Cost: 499}, executor.FinishBudget, 0},
		"more than its tokens": {"spends", executor.Left{LimitedTokens: true, Tokens: 9}, executor.FinishBudget, 0},
		"nothing is left":      {"spends", executor.Left{LimitedCost: true}, executor.FinishBudget, 0},
		"it ends by itself":    {"spends in time", executor.Left{LimitedCost: true, Cost: 1}, "tool_calls", 1},
		"enough is left":       {"spends in time", executor.Left{LimitedCost: true, Cost: 500, LimitedTokens: true, Tokens: 10}, "tool_calls", 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHost(t, func(c *executor.Config) {
				if row.mode == "spends" {
					c.Grace = 100 * time.Millisecond
				}
			})
			r, got := round(program(row.mode)), &heard{}
			r.Left = row.left
			a, err := h.Run(t.Context(), r, got.sink())
			if err != nil {
				t.Fatal(err)
			}
			testwant.Equal(t, "a.FinishReason", a.FinishReason, row.finish)
			testwant.Len(t, "a.Calls", a.Calls, row.calls)
			testwant.Equal(t, "a.Text", a.Text, "so far")
			testwant.Equal(t, "a.Usage.CostMicros", a.Usage.GetCostMicros(), 500)
		})
	}
}

// TestAnErrorAfterTheLimit: an executor that fails when it has used more than is left is not tried again, which would use as much
// once more.
func TestAnErrorAfterTheLimit(t *testing.T) {
	r := round(program("spends and fails"))
	r.Left = executor.Left{LimitedCost: true, Cost: 499}
	a, err := newHost(t).Run(t.Context(), r, (&heard{}).sink())
	if err != nil || a.FinishReason != executor.FinishBudget || a.Text != "so far" || a.Usage.GetCostMicros() != 500 {
		t.Errorf("%+v, %v", a, err)
	}
	r = round(program("spends and fails"))
	r.Left = executor.Left{LimitedCost: true, Cost: 500}
	if a, err := newHost(t).Run(t.Context(), r, (&heard{}).sink()); err == nil {
		t.Errorf("with enough left: %+v", a)
	}
}

// TestUsageBeyondCounting: counts that are told of stay counts, so that a limit is seen.
func TestUsageBeyondCounting(t *testing.T) {
	r := round(program("spends beyond counting"))
	a, err := newHost(t).Run(t.Context(), r, (&heard{}).sink())
	if err != nil || a.Usage.GetInputTokens() != math.MaxInt32 {
		t.Errorf("%+v, %v", a, err)
	}
}
