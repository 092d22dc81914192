package budget_test

import (
	"testing"

	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/sessions/budget"
	"github.com/windlass-dev/windlass/services/sessions/store/budgetdb"
	"github.com/windlass-dev/windlass/workflows/contract"
)

var (
	one   = contract.ModelCalls{Calls: 1}
	known = budget.Ratio{Input: 1000, Output: 1000}
	price = &turnv1.Price{InputMicros: 1_000_000, OutputMicros: 4_000_000} // 1 and 4 micros a token
)

func TestDecide(t *testing.T) {
	for _, tt := range []struct {
		name   string
		step   budget.Estimate
		budget budgetdb.Budget
		want   budget.Decision
	}{
		{
			name: "it fits", want: budget.Decision{Output: 500, Budget: -1},
			step:   budget.Estimate{ModelCalls: one, Input: 200, Output: 500},
			budget: budgetdb.Budget{Max: budgetdb.Amount{Tokens: 1000}},
		},
		{
			name: "alone it writes what is left", want: budget.Decision{Output: 400, Limit: budget.LimitTokens},
			step:   budget.Estimate{ModelCalls: one, Input: 200, Output: 500},
			budget: budgetdb.Budget{Max: budgetdb.Amount{Tokens: 1000}, Used: budgetdb.Amount{Tokens: 400}},
		},
		{
			name: "beside others it fits as a whole", want: budget.Decision{Output: 500, Budget: -1},
			step:   budget.Estimate{ModelCalls: one, Input: 200, Output: 500, Learned: known},
			budget: budgetdb.Budget{Max: budgetdb.Amount{Tokens: 1000}, Reserved: budgetdb.Amount{Tokens: 300}},
		},
		{
			name: "beside others it waits for more", want: budget.Decision{Verdict: budget.Waits, Output: 500, Limit: budget.LimitTokens},
			step:   budget.Estimate{ModelCalls: one, Input: 200, Output: 500, Learned: known},
			budget: budgetdb.Budget{Max: budgetdb.Amount{Tokens: 1000}, Reserved: budgetdb.Amount{Tokens: 301}},
		},
		{
			name:   "a model that nothing is known of waits for the one before",
			want:   budget.Decision{Verdict: budget.Waits, Output: 500, Limit: budget.LimitTokens},
			step:   budget.Estimate{ModelCalls: one, Input: 200, Output: 500},
			budget: budgetdb.Budget{Max: budgetdb.Amount{Tokens: 1_000_000}, Reserved: budgetdb.Amount{Tokens: 1}},
		},
		{
			name: "what was learned counts beside others", want: budget.Decision{Verdict: budget.Waits, Output: 500, Limit: budget.LimitTokens},
			step:   budget.Estimate{ModelCalls: one, Input: 200, Output: 500, Learned: budget.Ratio{Input: 3000, Output: 1000}},
			budget: budgetdb.Budget{Max: budgetdb.Amount{Tokens: 1000}, Reserved: budgetdb.Amount{Tokens: 1}},
		},
		{
			name: "what was learned ends no turn", want: budget.Decision{Output: 500, Budget: -1},
			step:   budget.Estimate{ModelCalls: one, Input: 200, Output: 500, Learned: budget.Ratio{Input: 30_000, Output: 1000}},
			budget: budgetdb.Budget{Max: budgetdb.Amount{Tokens: 1000}},
		},
		{
			name: "what others hold cannot help", want: budget.Decision{Verdict: budget.Exhausted, Limit: budget.LimitTokens},
			step:   budget.Estimate{ModelCalls: one, Input: 200, Output: 500, Learned: known},
			budget: budgetdb.Budget{Max: budgetdb.Amount{Tokens: 1000}, Used: budgetdb.Amount{Tokens: 740}, Reserved: budgetdb.Amount{Tokens: 1}},
		},
		{
			name: "shared by the calls of a step", want: budget.Decision{Output: 100, Limit: budget.LimitTokens},
			step:   budget.Estimate{ModelCalls: contract.ModelCalls{Calls: 2, Reread: 1}, Input: 150, Output: 500},
			budget: budgetdb.Budget{Max: budgetdb.Amount{Tokens: 2*150 + 2*100 + 100 + 64}},
		},
		{
			name: "what the money buys", want: budget.Decision{Output: 200, Limit: budget.LimitCost},
			step:   budget.Estimate{ModelCalls: one, Input: 200, Output: 500, Price: price},
			budget: budgetdb.Budget{Max: budgetdb.Amount{Tokens: 9000, Cost: 1000}},
		},
		{
			name: "the money buys less of a dearer fallback", want: budget.Decision{Output: 200, Limit: budget.LimitCost},
			step:   budget.Estimate{ModelCalls: one, Input: 200, Output: 500, Price: &turnv1.Price{}, Fallbacks: []*turnv1.Price{nil, price}},
			budget: budgetdb.Budget{Max: budgetdb.Amount{Tokens: 9000, Cost: 1000}},
		},
		{
			name: "not even the prompt", want: budget.Decision{Verdict: budget.Exhausted, Limit: budget.LimitCost},
			step:   budget.Estimate{ModelCalls: one, Input: 2000, Output: 500, Price: price},
			budget: budgetdb.Budget{Max: budgetdb.Amount{Cost: 1000}},
		},
		{
			name: "a model without a price is free", want: budget.Decision{Output: 500, Budget: -1},
			step:   budget.Estimate{ModelCalls: one, Input: 2000, Output: 500},
			budget: budgetdb.Budget{Max: budgetdb.Amount{Cost: 1000}},
		},
		{
			name: "a limit of tool calls is not its", want: budget.Decision{Output: 500, Budget: -1},
			step:   budget.Estimate{ModelCalls: one, Input: 2000, Output: 500},
			budget: budgetdb.Budget{Max: budgetdb.Amount{Calls: 1}, Used: budgetdb.Amount{Calls: 1}, Reserved: budgetdb.Amount{Calls: 1}},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := tt.step.Decide([]budgetdb.Budget{tt.budget})
			if got != tt.want {
				t.Errorf("%+v, want %+v", got, tt.want)
			}
			if need := tt.step.Need(got.Output); !tt.step.Learned.Known() && got.Verdict == budget.Admitted {
				if left := tt.budget.Max.Minus(tt.budget.Used); tt.budget.Max.Tokens > 0 && need.Tokens > left.Tokens ||
					tt.budget.Max.Cost > 0 && need.Cost > left.Cost {
					t.Errorf("it needs %+v of %+v", need, left)
				}
			}
		})
	}
}

func TestLearn(t *testing.T) {
	use := func(calls, input, output int32) *turnv1.Usage {
		return &turnv1.Usage{ModelCalls: calls, InputTokens: input, OutputTokens: output}
	}
	r := budget.Ratio{}
	for _, tt := range []struct {
		name string
		used *turnv1.Usage
		want budget.Ratio
	}{
		{"as estimated", use(1, 90, 100), budget.Ratio{Input: 1000, Output: 1000}},
		{"it rises at once", use(1, 900, 100), budget.Ratio{Input: 9000, Output: 1000}},
		{"it falls slowly", use(1, 100, 400), budget.Ratio{Input: 8000, Output: 2000}},
		{"a repeated call reads the answer before", use(2, 250, 50), budget.Ratio{Input: 7125, Output: 1875}},
		{"a provider that tells nothing", use(1, 0, 0), budget.Ratio{Input: 6359, Output: 1765}},
	} {
		if r = r.Learn(100, 200, tt.used); r != tt.want {
			t.Errorf("%s: %+v, want %+v", tt.name, r, tt.want)
		}
	}
	for range 100 {
		r = r.Learn(100, 200, use(1, 1, 1))
	}
	if r != (budget.Ratio{Input: 1000, Output: 1000}) {
		t.Errorf("it ends at %+v", r)
	}
}
