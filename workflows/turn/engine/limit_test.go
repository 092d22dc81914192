package engine_test

import (
	"fmt"
	"testing"

	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/workflows/contract/stepkey"
	"github.com/windlass-dev/windlass/workflows/turn/engine"
)

// TestALimitNamesItself: whatever limit ends a turn, the ending says which one it was and what it allows, and is no failure.
func TestALimitNamesItself(t *testing.T) {
	limits := &turnv1.Surface{
		MaxSteps: 2, MaxParallelTools: 4, MaxIdenticalCalls: 1, MaxTokens: 100, MaxOutputTokens: 50, TurnSeconds: 60,
		DeadlineMicros: now.UnixMicro(),
	}
	begin := &turnv1.StepOutcome{Key: stepkey.Begin, Kind: turnv1.StepKind_STEP_KIND_BEGIN, Surface: limits}
	early := &turnv1.StepOutcome{
		Key: stepkey.Begin, Kind: turnv1.StepKind_STEP_KIND_BEGIN,
		Surface: &turnv1.Surface{MaxSteps: 9, MaxIdenticalCalls: 1},
	}
	over := func(scope, budget, what string, limit int64) *turnv1.StepOutcome {
		return with(infer(1, ""), func(o *turnv1.StepOutcome) {
			o.Exhausted = &turnv1.LimitUse{Scope: scope, BudgetId: budget, What: what, Limit: limit}
		})
	}
	rows := []struct {
		name, want string
		outcomes   []*turnv1.StepOutcome
		failure    *turnv1.TurnError
	}{
		{
			name: "steps", want: "max_steps turn/ max_steps 2",
			outcomes: outcomes(begin, infer(1, "tool_calls", "a"), tool(1, 0, "h"), infer(2, "tool_calls", "b")),
		},
		{
			name: "tokens", want: "max_tokens turn/ max_tokens 100",
			outcomes: outcomes(begin, with(infer(1, "tool_calls", "a"), func(o *turnv1.StepOutcome) {
				o.Usage = &turnv1.Usage{InputTokens: 90, OutputTokens: 10}
			})),
		},
		{name: "one answer", want: "max_tokens turn/ max_output_tokens 50", outcomes: outcomes(begin, infer(1, "length"))},
		{name: "time", want: "deadline turn/ turn_seconds 60", outcomes: outcomes(begin, infer(1, "tool_calls", "a"))},
		{
			name: "a step that could not be done in time", want: "deadline turn/ turn_seconds 60", outcomes: outcomes(begin),
			failure: &turnv1.TurnError{Code: engine.CodeDeadline},
		},
		{
			name: "identical calls", want: "repetition turn/ max_identical_calls 1",
			outcomes: outcomes(early, infer(1, "tool_calls", "a", "a"), tool(1, 0, "h"), tool(1, 1, "h")),
		},
		{name: "an identical call is not made when it is one too many", want: "repetition turn/ max_identical_calls 1", outcomes: outcomes(early,
			asking(infer(1, "tool_calls", "a"), "h"), tool(1, 0, "h"), asking(infer(2, "tool_calls", "a"), "h"))},
		{name: "the turn's calls", want: "budget turn/trn_1 max_tool_calls 3", outcomes: outcomes(begin, over("turn", "trn_1", "tool_calls", 3))},
		{
			name: "the turn's tokens, before a call", want: "max_tokens turn/trn_1 max_tokens 100",
			outcomes: outcomes(begin, over("turn", "trn_1", "tokens", 100)),
		},
		{
			name: "a budget's money", want: "budget tenant/bgt_1 max_cost 250000",
			outcomes: outcomes(begin, over("tenant", "bgt_1", "cost", 250000)),
		},
		{name: "an answer is none", want: "end / ", outcomes: outcomes(begin, infer(1, "stop"))},
		{name: "nor is a failure", want: "error / ", outcomes: outcomes(begin), failure: &turnv1.TurnError{Code: "x"}},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			d := engine.Next(engine.State{Outcomes: row.outcomes, Now: now, Failure: row.failure})
			if !d.IsFinish() {
				t.Fatalf("goes on with %s", text(d))
			}
			e := d.Steps[0].GetEnding()
			l := e.GetLimitReached()
			got := fmt.Sprintf("%s %s/%s %s", e.GetStopReason(), l.GetScope(), l.GetBudgetId(), l.GetLimit())
			if l != nil {
				got += fmt.Sprintf(" %d", l.GetValue())
			}
			if got != row.want || l != nil && (e.GetStatus() != turnv1.TurnStatus_TURN_STATUS_COMPLETED || e.GetError() != nil) {
				t.Errorf("%q, want %q: %v", got, row.want, e)
			}
		})
	}
}

// asking has a model step tell the hash of each call that it asks for.
func asking(o *turnv1.StepOutcome, hash string) *turnv1.StepOutcome {
	for _, c := range o.GetCalls() {
		c.CallHash = hash
	}
	return o
}
