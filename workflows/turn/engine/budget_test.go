package engine_test

import (
	"testing"
	"time"

	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/workflows/turn/engine"
)

// over has a step meet the end of a limit.
func over(scope, what string) func(*turnv1.StepOutcome) {
	return func(o *turnv1.StepOutcome) { o.Exhausted = &turnv1.LimitUse{Scope: scope, What: what, Limit: 1} }
}

func TestAnExhaustedStepEndsTheTurn(t *testing.T) {
	refused := func(key, scope, what string) *turnv1.StepOutcome {
		return &turnv1.StepOutcome{Key: key, Exhausted: &turnv1.LimitUse{Scope: scope, What: what, Limit: 1}}
	}
	for _, tt := range []struct {
		name      string
		outcomes  []*turnv1.StepOutcome
		cancelled bool
		want      string
	}{
		{
			name: "a model step that does not fit", want: "finish completed budget",
			outcomes: outcomes(begun(), infer(1, "tool_calls", "a"), tool(1, 0, "h"), refused("infer-2", "tenant", "cost")),
		},
		{
			name: "the turn's own tokens have a name of their own", want: "finish completed max_tokens",
			outcomes: outcomes(begun(), infer(1, "tool_calls", "a"), tool(1, 0, "h"), refused("infer-2", "turn", "tokens")),
		},
		{
			name: "the turn's own tool calls", want: "finish completed budget",
			outcomes: outcomes(begun(), infer(1, "tool_calls", "a", "b"), refused("tool-1.1", "turn", "tool_calls")),
		},
		{
			name: "an answer that was cut where a budget ends", want: "finish completed budget",
			outcomes: outcomes(begun(), with(infer(1, "length"), over("agent", "tokens"))),
		},
		{
			name: "a cancel goes first", want: "finish cancelled cancelled", cancelled: true,
			outcomes: outcomes(begun(), with(infer(1, "length"), over("agent", "tokens"))),
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := engine.Next(engine.State{Outcomes: tt.outcomes, Now: time.Unix(0, 0), Cancelled: tt.cancelled})
			if text(got) != tt.want {
				t.Errorf("decided %q, want %q", text(got), tt.want)
			}
		})
	}
}
