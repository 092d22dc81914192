package engine_test

import (
	"strings"
	"testing"
	"time"

	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/workflows/contract/stepkey"
	"github.com/windlass-dev/windlass/workflows/turn/engine"
)

var now = time.Unix(1_800_000_000, 0)

// begun is a begin step with usual limits, changed as asked.
func begun(change ...func(*turnv1.Surface)) *turnv1.StepOutcome {
	s := &turnv1.Surface{
		Strategy: turnv1.Strategy_STRATEGY_REACT, MaxSteps: 3, MaxParallelTools: 2, MaxIdenticalCalls: 2,
		DeadlineMicros: now.Add(time.Minute).UnixMicro(),
	}
	for _, f := range change {
		f(s)
	}
	return &turnv1.StepOutcome{Key: "begin", Kind: turnv1.StepKind_STEP_KIND_BEGIN, Surface: s}
}

// infer is a model step that asks for tools.
func infer(n int, reason string, tools ...string) *turnv1.StepOutcome {
	o := &turnv1.StepOutcome{
		Key: stepkey.Infer(n), Kind: turnv1.StepKind_STEP_KIND_INFER, FinishReason: reason,
		Usage: &turnv1.Usage{InputTokens: 10, OutputTokens: 5},
	}
	for _, t := range tools {
		o.Calls = append(o.Calls, &turnv1.ToolCallRef{CallId: "c-" + t, Tool: t, MessageId: "msg"})
	}
	return o
}

func tool(n, m int, hash string) *turnv1.StepOutcome {
	return &turnv1.StepOutcome{Key: stepkey.Tool(n, m), Kind: turnv1.StepKind_STEP_KIND_TOOL, CallHash: hash}
}

func with(o *turnv1.StepOutcome, change func(*turnv1.StepOutcome)) *turnv1.StepOutcome {
	change(o)
	return o
}

func failing(code string) func(*turnv1.StepOutcome) {
	return func(o *turnv1.StepOutcome) { o.Error = &turnv1.TurnError{Code: code, Message: "m"} }
}

func limited(f func(*turnv1.Surface)) *turnv1.StepOutcome { return begun(f) }

func TestNext(t *testing.T) {
	direct := func(s *turnv1.Surface) { s.Strategy = turnv1.Strategy_STRATEGY_DIRECT }
	for _, row := range []struct {
		name      string
		outcomes  []*turnv1.StepOutcome
		late      bool
		cancelled bool
		failure   *turnv1.TurnError
		want      string
	}{
		{name: "a new turn begins", want: "begin"},
		{name: "then the model is asked", outcomes: outcomes(begun()), want: "infer-1"},
		{name: "a begin that failed fails the turn", outcomes: outcomes(with(begun(), failing("model_unknown"))), want: "finish failed error"},
		{name: "an answer without calls ends the turn", outcomes: outcomes(begun(), infer(1, "stop")), want: "finish completed end"},
		{
			name: "a begin whose input is blocked ends the turn", want: "finish completed content_filter",
			outcomes: outcomes(with(begun(), func(o *turnv1.StepOutcome) { o.FinishReason = "content_filter" })),
		},
		{name: "calls are run", outcomes: outcomes(begun(), infer(1, "tool_calls", "a", "b")), want: "tool-1.0 tool-1.1"},
		{name: "no more at once than allowed", outcomes: outcomes(begun(), infer(1, "tool_calls", "a", "b", "c")), want: "tool-1.0 tool-1.1"},
		{
			name: "a free slot is used at once", want: "tool-1.1 tool-1.2",
			outcomes: outcomes(begun(), infer(1, "tool_calls", "a", "b", "c"), tool(1, 0, "h1")),
		},
		{
			name: "the order in which tools end does not matter", want: "tool-1.0 tool-1.2",
			outcomes: outcomes(tool(1, 1, "h1"), infer(1, "tool_calls", "a", "b", "c"), begun()),
		},
		{
			name: "results go to the model", want: "infer-2",
			outcomes: outcomes(begun(), infer(1, "tool_calls", "a"), with(tool(1, 0, "h"), func(o *turnv1.StepOutcome) { o.IsError = true })),
		},
		{name: "direct asks once", outcomes: outcomes(limited(direct), infer(1, "tool_calls", "a")), want: "finish completed end"},
		{name: "an answer that was cut", outcomes: outcomes(begun(), infer(1, "length", "a")), want: "finish completed max_tokens"},
		{name: "an answer that was filtered", outcomes: outcomes(begun(), infer(1, "content_filter")), want: "finish completed content_filter"},
		{
			name: "tools of the last step are not run", want: "finish completed max_steps",
			outcomes: outcomes(limited(func(s *turnv1.Surface) { s.MaxSteps = 1 }), infer(1, "tool_calls", "a")),
		},
		{
			name: "an answer in the last step is an answer", want: "finish completed end",
			outcomes: outcomes(limited(func(s *turnv1.Surface) { s.MaxSteps = 1 }), infer(1, "stop")),
		},
		{
			name: "tokens are counted", want: "finish completed max_tokens",
			outcomes: outcomes(limited(func(s *turnv1.Surface) { s.MaxTokens = 30 }),
				infer(1, "tool_calls", "a"), tool(1, 0, "h"), infer(2, "tool_calls", "a")),
		},
		{
			name: "below the token limit the turn goes on", want: "tool-1.0",
			outcomes: outcomes(limited(func(s *turnv1.Surface) { s.MaxTokens = 30 }), infer(1, "tool_calls", "a")),
		},
		{name: "the deadline passes", outcomes: outcomes(begun(), infer(1, "tool_calls", "a")), late: true, want: "finish completed deadline"},
		{name: "an answer at the deadline is an answer", outcomes: outcomes(begun(), infer(1, "stop")), late: true, want: "finish completed end"},
		{
			name: "a model step cut by the deadline", want: "finish completed deadline",
			outcomes: outcomes(begun(), with(infer(1, "deadline"), failing("deadline_exceeded"))),
		},
		{
			name: "a tool cut by the deadline", want: "finish completed deadline",
			outcomes: outcomes(begun(), infer(1, "tool_calls", "a", "b"), with(tool(1, 1, "h"), failing("deadline_exceeded"))),
		},
		{
			name: "a model that cannot be had fails the turn", want: "finish failed error",
			outcomes: outcomes(begun(), with(infer(1, ""), failing("model_rejected"))),
		},
		{
			name: "as many identical calls as allowed", want: "infer-3",
			outcomes: outcomes(begun(), infer(1, "tool_calls", "a"), tool(1, 0, "h"), infer(2, "tool_calls", "a"), tool(2, 0, "h")),
		},
		{
			name: "too many identical calls", want: "finish completed repetition",
			outcomes: outcomes(limited(func(s *turnv1.Surface) { s.MaxIdenticalCalls = 1 }),
				infer(1, "tool_calls", "a"), tool(1, 0, "h"), infer(2, "tool_calls", "a"), tool(2, 0, "h")),
		},
		{
			name: "another call in between", want: "infer-3",
			outcomes: outcomes(limited(func(s *turnv1.Surface) { s.MaxIdenticalCalls = 1 }),
				infer(1, "tool_calls", "a", "b"), tool(1, 0, "h"), tool(1, 1, "i"), infer(2, "tool_calls", "a"), tool(2, 0, "h")),
		},
		{name: "cancelled before it began", cancelled: true, want: "finish cancelled cancelled"},
		{name: "cancelled after the answer", cancelled: true, outcomes: outcomes(begun(), infer(1, "stop")), want: "finish cancelled cancelled"},
		{
			name: "a step saw the cancel", want: "finish cancelled cancelled",
			outcomes: outcomes(begun(), with(infer(1, "cancelled"), func(o *turnv1.StepOutcome) { o.Cancelled = true })),
		},
		{
			name: "a step that could not be done", failure: &turnv1.TurnError{Code: "not_found"}, outcomes: outcomes(begun()),
			want: "finish failed error",
		},
		{
			name: "a step that could not be done in time", want: "finish completed deadline",
			failure: &turnv1.TurnError{Code: "deadline_exceeded"}, outcomes: outcomes(begun()),
		},
		{
			name: "an end is an end", want: "done", cancelled: true,
			outcomes: outcomes(begun(), infer(1, "stop"), &turnv1.StepOutcome{Key: "finish", Kind: turnv1.StepKind_STEP_KIND_FINISH}),
		},
		{name: "a surface without limits still has an end", outcomes: outcomes(&turnv1.StepOutcome{Key: "begin", Surface: &turnv1.Surface{}},
			infer(1, "tool_calls", "a")), want: "finish completed max_steps"},
	} {
		t.Run(row.name, func(t *testing.T) {
			at := now
			if row.late {
				at = now.Add(time.Minute)
			}
			d := engine.Next(engine.State{Outcomes: row.outcomes, Now: at, Cancelled: row.cancelled, Failure: row.failure})
			if got := text(d); got != row.want {
				t.Errorf("decision: %s, want %s", got, row.want)
			}
		})
	}
}

func TestStepsCarryWhatTheyNeed(t *testing.T) {
	d := engine.Next(engine.State{Outcomes: outcomes(begun(), infer(1, "tool_calls", "calc__add")), Now: now})
	ref := d.Steps[0]
	if ref.GetTitle() != "tool calc__add" || ref.GetCall().GetMessageId() != "msg" || ref.GetCall().GetCallId() != "c-calc__add" {
		t.Errorf("tool step = %v", ref)
	}
	d = engine.Next(engine.State{Outcomes: outcomes(begun()), Now: now})
	if got := d.Steps[0].GetTitle(); got != "infer #1" {
		t.Errorf("title = %q", got)
	}
}

func outcomes(all ...*turnv1.StepOutcome) []*turnv1.StepOutcome { return all }

// text writes a decision in one line.
func text(d engine.Decision) string {
	if d.Done {
		return "done"
	}
	var words []string
	for _, s := range d.Steps {
		words = append(words, s.GetKey())
		if e := s.GetEnding(); e != nil {
			words = append(words, strings.ToLower(strings.TrimPrefix(e.GetStatus().String(), "TURN_STATUS_")), e.GetStopReason())
		}
	}
	return strings.Join(words, " ")
}
