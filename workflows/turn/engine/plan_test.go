package engine_test

import (
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/workflows/contract/stepkey"
	"github.com/windlass-dev/windlass/workflows/turn/engine"
)

func thinking(strategy turnv1.Strategy) *turnv1.StepOutcome {
	return begun(func(s *turnv1.Surface) { s.Strategy, s.MaxSteps = strategy, 9 })
}

func planning() *turnv1.StepOutcome { return thinking(turnv1.Strategy_STRATEGY_PLAN) }

func plan(n int, titles ...string) *turnv1.StepOutcome {
	return &turnv1.StepOutcome{Key: stepkey.Plan(n), Kind: turnv1.StepKind_STEP_KIND_PLAN, Plan: titles, MessageId: "plan"}
}

func selected(strategy turnv1.Strategy) *turnv1.StepOutcome {
	return &turnv1.StepOutcome{Key: "select", Kind: turnv1.StepKind_STEP_KIND_SELECT, Strategy: strategy}
}

func gaveUp(n int) *turnv1.StepOutcome {
	return with(infer(n, "stop"), func(o *turnv1.StepOutcome) { o.GaveUp = true })
}

func TestNextOfPlansAndChoices(t *testing.T) {
	auto := thinking(turnv1.Strategy_STRATEGY_AUTO)
	react, direct, planned := turnv1.Strategy_STRATEGY_REACT, turnv1.Strategy_STRATEGY_DIRECT, turnv1.Strategy_STRATEGY_PLAN
	for _, row := range []struct {
		name      string
		outcomes  []*turnv1.StepOutcome
		cancelled bool
		want      string // key, plan part and strategy of the steps
	}{
		{
			name:     "text protocol is react to the engine",
			outcomes: outcomes(thinking(turnv1.Strategy_STRATEGY_REACT_TEXT), infer(1, "tool_calls", "a")), want: "tool-1.0",
		},
		{name: "a planned turn begins with the plan", outcomes: outcomes(planning()), want: "plan-1"},
		{name: "then its first step", outcomes: outcomes(planning(), plan(1, "a", "b")), want: "infer-1@1/2:rp"},
		{name: "a step may use tools", outcomes: outcomes(planning(), plan(1, "a", "b"), infer(1, "tool_calls", "x")), want: "tool-1.0"},
		{
			name: "and goes on with their results", outcomes: outcomes(planning(), plan(1, "a", "b"), infer(1, "tool_calls", "x"), tool(1, 0, "h")),
			want: "infer-2@1/2:rp",
		},
		{name: "a text ends it", outcomes: outcomes(planning(), plan(1, "a", "b"), infer(1, "stop")), want: "infer-2@2/2:cr"},
		{
			name: "after the last the answer", outcomes: outcomes(planning(), plan(1, "a", "b"), infer(1, "stop"), infer(2, "stop")),
			want: "infer-3@0/2:cc",
		},
		{
			name: "which ends the turn", outcomes: outcomes(planning(), plan(1, "a"), infer(1, "stop"), infer(2, "stop")),
			want: "finish completed end",
		},
		{
			name: "also when it asks for tools", outcomes: outcomes(planning(), plan(1, "a"), infer(1, "stop"), infer(2, "tool_calls", "x")),
			want: "finish completed end",
		},
		{name: "an empty plan is answered at once", outcomes: outcomes(planning(), plan(1)), want: "infer-1@0/0:"},
		{
			name:     "a step that failed has the rest planned again",
			outcomes: outcomes(planning(), plan(1, "a", "b", "c"), infer(1, "stop"), gaveUp(2)), want: "plan-2@0/2:cf",
		},
		{
			name: "the new steps follow those that ended", want: "infer-3@3/4:cfrp",
			outcomes: outcomes(planning(), plan(1, "a", "b", "c"), infer(1, "stop"), gaveUp(2), plan(2, "d", "e")),
		},
		{name: "a new plan may be empty", outcomes: outcomes(planning(), plan(1, "a", "b"), gaveUp(1), plan(2)), want: "infer-2@0/1:f"},
		{
			name: "a second failure is answered with what there is", want: "infer-3@0/2:ff",
			outcomes: outcomes(planning(), plan(1, "a", "b"), gaveUp(1), plan(2, "c", "d"), gaveUp(2)),
		},
		{
			name: "a plan that cannot be had fails the turn", want: "finish failed error",
			outcomes: outcomes(planning(), with(plan(1), failing("model_rejected"))),
		},
		{
			name: "a plan cut by the deadline", want: "finish completed deadline",
			outcomes: outcomes(planning(), plan(1, "a"), gaveUp(1), with(plan(2), failing("deadline_exceeded"))),
		},
		{
			name: "the limit of steps holds between parts", want: "finish completed max_steps",
			outcomes: outcomes(begun(func(s *turnv1.Surface) { s.Strategy = planned; s.MaxSteps = 1 }), plan(1, "a"), infer(1, "stop")),
		},
		{
			name: "planning costs tokens too", want: "finish completed max_tokens",
			outcomes: outcomes(begun(func(s *turnv1.Surface) { s.Strategy = planned; s.MaxTokens = 20 }),
				with(plan(1, "a"), func(o *turnv1.StepOutcome) { o.Usage = &turnv1.Usage{InputTokens: 5} }), infer(1, "stop")),
		},
		{
			name: "a part that was cut ends the turn", outcomes: outcomes(planning(), plan(1, "a", "b"), infer(1, "length")),
			want: "finish completed max_tokens",
		},
		{name: "auto asks first", outcomes: outcomes(auto), want: "select"},
		{name: "auto as react", outcomes: outcomes(auto, selected(react)), want: "infer-1=REACT"},
		{name: "auto as direct", outcomes: outcomes(auto, selected(direct), infer(1, "tool_calls", "x")), want: "finish completed end"},
		{name: "auto as plan", outcomes: outcomes(auto, selected(planned)), want: "plan-1"},
		{name: "auto as plan goes on", outcomes: outcomes(auto, selected(planned), plan(1, "a")), want: "infer-1@1/1:r=PLAN"},
		{
			name: "a choice that cannot be had fails the turn", outcomes: outcomes(auto, with(selected(0), failing("model_rejected"))),
			want: "finish failed error",
		},
		{name: "a cancel before the choice", outcomes: outcomes(auto), cancelled: true, want: "finish cancelled cancelled"},
	} {
		t.Run(row.name, func(t *testing.T) {
			d := engine.Next(engine.State{Outcomes: row.outcomes, Now: now, Cancelled: row.cancelled})
			got := text(d)
			for _, s := range d.Steps {
				if p := s.GetPlan(); p != nil {
					got += "@" + string(rune('0'+p.GetCurrent())) + "/" + string(rune('0'+len(p.GetSteps()))) + ":"
					for i, step := range p.GetSteps() {
						got += strings.ToLower(strings.TrimPrefix(step.GetStatus().String(), "PLAN_STEP_STATUS_")[:1])
						if step.GetId() != uint32(i+1) {
							t.Errorf("step %d has id %d", i+1, step.GetId())
						}
					}
				}
				if s.GetStrategy() != 0 {
					got += "=" + strings.TrimPrefix(s.GetStrategy().String(), "STRATEGY_")
				}
			}
			if got != row.want {
				t.Errorf("decision: %s, want %s", got, row.want)
			}
		})
	}
}

// A re-run from the middle of a plan decides as the turn that it runs again did from there on: what stood in the plan then is
// what it begins with.
func TestAPlanIsTakenUpInItsMiddle(t *testing.T) {
	whole := outcomes(planning(), plan(1, "a", "b", "c"), infer(1, "tool_calls", "x"), tool(1, 0, "h"), infer(2, "stop"), gaveUp(3),
		plan(2, "d", "e"),
		infer(4, "stop"), infer(5, "stop"), infer(6, "stop"))
	for from := 2; from <= 6; from++ {
		before := from + 2 // the begin step, a plan, the tool's result: what was done before infer-N
		if from > 3 {
			before++ // the second plan
		}
		ref := engine.Next(engine.State{Outcomes: whole[:before], Now: now}).Steps[0]
		if ref.GetKey() != stepkey.Infer(from) {
			t.Fatalf("%d outcomes lead to %s", before, ref.GetKey())
		}
		plans := uint32(1)
		if from > 3 {
			plans = 2
		}
		again := outcomes(begun(func(s *turnv1.Surface) {
			s.Strategy, s.MaxSteps, s.ResumedPlan, s.ResumedPlans = turnv1.Strategy_STRATEGY_PLAN, 9, ref.GetPlan(), plans
		}))
		for at := before; at <= len(whole); at++ {
			d := engine.Next(engine.State{Outcomes: again, Now: now})
			want := engine.Next(engine.State{Outcomes: whole[:at], Now: now})
			if got, expected := d.Steps[0].GetPlan().String(),
				want.Steps[0].GetPlan().String(); got != expected || d.Steps[0].GetKind() != want.Steps[0].GetKind() {
				t.Errorf("from infer-%d, after %d outcomes: %s with %s, want %s with %s", from, at, text(d), got, text(want), expected)
			}
			if at < len(whole) {
				next := with(proto.CloneOf(whole[at]), func(o *turnv1.StepOutcome) {
					if n, ok := stepkey.ParseInfer(o.GetKey()); ok {
						o.Key = stepkey.Infer(n - from + 1)
					}
				})
				again = append(again, next)
			}
		}
		if s := ref.GetPlan().GetSteps(); len(s) > 0 && s[len(s)-1].GetMessageId() != "" && from < 6 {
			t.Errorf("the plan that it began with was changed: %v", s)
		}
	}
}

func TestTitlesTellThePartOfThePlan(t *testing.T) {
	for _, row := range []struct {
		want     string
		outcomes []*turnv1.StepOutcome
	}{
		{"select strategy", outcomes(thinking(turnv1.Strategy_STRATEGY_AUTO))},
		{"plan", outcomes(planning())},
		{"plan again", outcomes(planning(), plan(1, "a"), gaveUp(1))},
		{"infer #2 (plan step 2)", outcomes(planning(), plan(1, "a", "b"), infer(1, "stop"))},
		{"infer #2 (answer)", outcomes(planning(), plan(1, "a"), infer(1, "stop"))},
	} {
		if got := engine.Next(engine.State{Outcomes: row.outcomes, Now: now}).Steps[0].GetTitle(); got != row.want {
			t.Errorf("title %q, want %q", got, row.want)
		}
	}
}
