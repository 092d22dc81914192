package engine_test

import (
	"testing"

	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/workflows/contract/stepkey"
	"github.com/windlass-dev/windlass/workflows/turn/engine"
)

// windowed is a begin step whose model reads 800 of 1000 tokens, and whose conversation takes so many.
func windowed(tokens int64, change ...func(*turnv1.Surface)) *turnv1.StepOutcome {
	o := begun(append([]func(*turnv1.Surface){func(s *turnv1.Surface) { s.ContextTokens, s.ContextWindow = 800, 1000 }}, change...)...)
	o.ContextTokens = tokens
	return o
}

// reading has a model step read so many tokens by the provider's count, and so many by ours.
func reading(o *turnv1.StepOutcome, theirs int32, ours int64) *turnv1.StepOutcome {
	o.Usage.InputTokens, o.ContextTokens = theirs, ours
	return o
}

func sized(o *turnv1.StepOutcome, tokens int64) *turnv1.StepOutcome {
	o.ContextTokens = tokens
	return o
}

func compacted(n int, tokens int64) *turnv1.StepOutcome {
	return &turnv1.StepOutcome{Key: stepkey.Compact(n), Kind: turnv1.StepKind_STEP_KIND_COMPACT, ContextTokens: tokens}
}

func steered(n int, tokens, at int64) *turnv1.StepOutcome {
	return &turnv1.StepOutcome{Key: stepkey.Steer(n), Kind: turnv1.StepKind_STEP_KIND_STEER, ContextTokens: tokens, CommittedMicros: at}
}

func TestWhenAConversationIsCompacted(t *testing.T) {
	tooLong := func(n int) *turnv1.StepOutcome { return with(infer(n, ""), failing(engine.CodeContext)) }
	strategy := func(s turnv1.Strategy) func(*turnv1.Surface) { return func(f *turnv1.Surface) { f.Strategy = s } }
	planned := strategy(turnv1.Strategy_STRATEGY_PLAN)
	plan := &turnv1.StepOutcome{Key: "plan-1", Kind: turnv1.StepKind_STEP_KIND_PLAN, Plan: []string{"a", "b"}}
	for _, row := range []struct {
		name     string
		outcomes []*turnv1.StepOutcome
		want     string
	}{
		{"a short one is not", outcomes(windowed(800)), "infer-1"},
		{"a long one is before the first model step", outcomes(windowed(801)), "compact-1"},
		{"once", outcomes(windowed(801), compacted(1, 900)), "infer-1"},
		{"without a bound it never is", outcomes(sized(begun(), 1<<40)), "infer-1"},
		{"before a choice", outcomes(windowed(801, strategy(turnv1.Strategy_STRATEGY_AUTO))), "compact-1"},
		{"a choice follows", outcomes(windowed(801, strategy(turnv1.Strategy_STRATEGY_AUTO)), compacted(1, 100)), "select"},
		{"before a plan", outcomes(windowed(801, planned)), "compact-1"},
		{"a plan follows", outcomes(windowed(801, planned), compacted(1, 100)), "plan-1"},
		{"within a plan", outcomes(windowed(0, planned), plan, reading(infer(1, "stop"), 796, 796)), "compact-2"},
		{
			"results count", outcomes(windowed(0), reading(infer(1, "tool_calls", "a"), 700, 700), sized(tool(1, 0, "h"), 96)), "compact-2",
		},
		{
			"not yet", outcomes(windowed(0), reading(infer(1, "tool_calls", "a"), 700, 700), sized(tool(1, 0, "h"), 95)), "infer-2",
		},
		{
			"while calls are open it waits", outcomes(windowed(0), reading(infer(1, "tool_calls", "a", "b"), 900, 900), sized(tool(1, 0, "h"), 9)),
			"tool-1.1",
		},
		{
			"the provider counts more than we", outcomes(windowed(0), reading(infer(1, "tool_calls", "a"), 600, 300), sized(tool(1, 0, "h"), 98)),
			"compact-2",
		},
		{
			"a strange count is believed in part only",
			outcomes(windowed(0), reading(infer(1, "tool_calls", "a"), 600, 1), sized(tool(1, 0, "h"), 97)), "infer-2",
		},
		{
			"input that is there counts", outcomes(windowed(0), reading(infer(1, "stop"), 700, 700), steered(1, 96, 0)), "compact-2",
		},
		{
			"input that came later does not change what was decided",
			outcomes(windowed(0), reading(infer(1, "stop"), 700, 700), steered(1, 5, 0), steered(2, 96, 7)), "infer-2",
		},
		{
			"not again before something came", outcomes(windowed(900), compacted(1, 850), reading(infer(1, "tool_calls", "a"), 850, 850),
				sized(tool(1, 0, "h"), 95)), "infer-2",
		},
		{
			"again when much came", outcomes(windowed(900), compacted(1, 850), reading(infer(1, "tool_calls", "a"), 850, 850),
				sized(tool(1, 0, "h"), 96)), "compact-2",
		},
		{"a refused conversation is", outcomes(windowed(0), tooLong(1)), "compact-2"},
		{"and the model asked again", outcomes(windowed(0), tooLong(1), compacted(2, 10)), "infer-2"},
		{"twice in a row is the end", outcomes(windowed(0), tooLong(1), compacted(2, 10), tooLong(2)), "finish failed error"},
		{
			"later once more", outcomes(windowed(0), tooLong(1), compacted(2, 10), infer(2, "tool_calls", "a"), tool(2, 0, "h"), tooLong(3)),
			"compact-4",
		},
		{
			"a refused step is none of those that a turn may take",
			outcomes(windowed(0, func(s *turnv1.Surface) { s.MaxSteps = 1 }), tooLong(1), compacted(2, 10)), "infer-2",
		},
		{"nor one of a plan's", outcomes(windowed(0, planned), plan, tooLong(1), compacted(2, 10), infer(2, "stop")), "infer-3"},
		{"nor an answer", outcomes(windowed(0, strategy(turnv1.Strategy_STRATEGY_DIRECT)), tooLong(1), compacted(2, 10)), "infer-2"},
		{"without a bound it fails the turn", outcomes(begun(), tooLong(1)), "finish failed error"},
		{"a compaction that came to nothing is no end", outcomes(windowed(801), with(compacted(1, 0), failing("model_rejected"))), "infer-1"},
		{"unless the time was up", outcomes(windowed(801), with(compacted(1, 0), failing(engine.CodeDeadline))), "finish completed deadline"},
	} {
		t.Run(row.name, func(t *testing.T) {
			d := engine.Next(engine.State{Outcomes: row.outcomes, Now: now})
			if got := text(d); got != row.want {
				t.Errorf("decided %q, want %q", got, row.want)
			}
		})
	}
}
