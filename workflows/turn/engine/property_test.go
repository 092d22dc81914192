package engine_test

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/workflows/contract/stepkey"
	"github.com/windlass-dev/windlass/workflows/turn/engine"
)

// TestEveryTurnEnds drives random turns to their end, with steps that end in any order, fail, are cancelled, or run past the deadline.
func TestEveryTurnEnds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := &world{now: now, started: map[string]bool{}, surface: &turnv1.Surface{
			Strategy:          rapid.SampledFrom(strategies).Draw(t, "strategy"),
			MaxSteps:          rapid.Uint32Range(0, 6).Draw(t, "steps"),
			MaxTokens:         rapid.Int32Range(0, 200).Draw(t, "tokens"),
			MaxParallelTools:  rapid.Uint32Range(0, 4).Draw(t, "parallel"),
			MaxIdenticalCalls: rapid.Uint32Range(0, 3).Draw(t, "identical"),
			DeadlineMicros:    now.Add(time.Minute).UnixMicro(),
			ContextTokens:     rapid.SampledFrom([]int64{0, 0, 50}).Draw(t, "context"),
			ContextWindow:     80,
		}}
		for range 1000 {
			if w.round(t) {
				return
			}
		}
		t.Fatalf("no end in sight: %v", w.outcomes)
	})
}

var strategies = []turnv1.Strategy{
	turnv1.Strategy_STRATEGY_REACT, turnv1.Strategy_STRATEGY_DIRECT, turnv1.Strategy_STRATEGY_REACT_TEXT, turnv1.Strategy_STRATEGY_PLAN,
	turnv1.Strategy_STRATEGY_ROUTE, turnv1.Strategy_STRATEGY_AUTO,
}

// world is a driver of the engine and all it can meet.
type world struct {
	surface  *turnv1.Surface
	now      time.Time
	outcomes []*turnv1.StepOutcome
	running  []*turnv1.StepRef
	started  map[string]bool
	infers   uint32
	// preparations are select and plan steps: three at most, one choice and two plans.
	preparations int
	cancelled    bool
	ended        bool
	// waits are keys of tool steps that wait; inputs counts what steered the turn.
	waits  []string
	inputs uint32
	// commits counts outcomes, so that each has a time of its own.
	commits int64
}

// round decides once and lets one running step end. It tells when the turn is over.
func (w *world) round(t *rapid.T) bool {
	d := engine.Next(engine.State{Outcomes: w.outcomes, Now: w.now, Cancelled: w.cancelled})
	if d.Done {
		if len(w.running) > 0 || !w.ended {
			t.Fatalf("done with steps under way: %v", w.running)
		}
		return true
	}
	if len(d.Steps) == 0 && !d.Waiting {
		t.Fatal("nothing to do and not done")
	}
	w.people(t, d)
	if !d.IsFinish() || len(w.running) == 0 {
		w.start(t, d)
	}
	if len(w.running) > 0 {
		i := rapid.IntRange(0, len(w.running)-1).Draw(t, "which ends")
		step := w.running[i]
		w.running = append(w.running[:i:i], w.running[i+1:]...)
		w.commit(w.outcome(t, step))
	}
	w.cancelled = w.cancelled || rapid.IntRange(0, 40).Draw(t, "cancel") == 0
	if rapid.IntRange(0, 10).Draw(t, "slow") == 0 {
		w.now = w.now.Add(20 * time.Second)
	}
	return false
}

// people answer waits, in any order, and steer the turn. Somebody always answers where nothing else is left to do.
func (w *world) people(t *rapid.T, d engine.Decision) {
	if len(w.waits) > 0 && (len(w.running) == 0 && len(d.Steps) == 0 || rapid.IntRange(0, 3).Draw(t, "answer") == 0) {
		i := rapid.IntRange(0, len(w.waits)-1).Draw(t, "which wait")
		w.commit(&turnv1.StepOutcome{
			Key: stepkey.Wait(w.waits[i]), Kind: turnv1.StepKind_STEP_KIND_WAIT,
			DeadlineMicros: w.surface.GetDeadlineMicros() + rapid.Int64Range(0, 1e6).Draw(t, "moved"),
		})
		w.waits = append(w.waits[:i:i], w.waits[i+1:]...)
	}
	if !w.ended && rapid.IntRange(0, 20).Draw(t, "steer") == 0 {
		w.inputs++
		w.commit(&turnv1.StepOutcome{
			Key: stepkey.Steer(int(w.inputs)), Kind: turnv1.StepKind_STEP_KIND_STEER, ContextTokens: rapid.Int64Range(0, 60).Draw(t, "said"),
		})
	}
}

func (w *world) commit(o *turnv1.StepOutcome) {
	w.commits++
	o.CommittedMicros = w.now.UnixMicro() + w.commits
	w.outcomes = append(w.outcomes, o)
}

func (w *world) start(t *rapid.T, d engine.Decision) {
	wanted := map[string]bool{}
	for _, step := range d.Steps {
		wanted[step.GetKey()] = true
		if w.isRunning(step.GetKey()) {
			continue
		}
		if w.started[step.GetKey()] {
			t.Fatalf("%s asked for twice", step.GetKey())
		}
		w.started[step.GetKey()] = true
		w.check(t, step)
		w.running = append(w.running, step)
		if step.GetKind() == turnv1.StepKind_STEP_KIND_INFER {
			w.infers++
		}
	}
	for _, step := range w.running {
		if !wanted[step.GetKey()] {
			t.Fatalf("%s is under way, but no more wanted beside %v", step.GetKey(), d.Steps)
		}
	}
	if len(w.running) > max(int(w.surface.GetMaxParallelTools()), 1) || w.infers > max(w.surface.GetMaxSteps(), 1) {
		t.Fatalf("limits passed: %v under way, %d model steps", w.running, w.infers)
	}
}

// check holds a step against what it is for.
func (w *world) check(t *rapid.T, step *turnv1.StepRef) {
	switch step.GetKind() {
	case turnv1.StepKind_STEP_KIND_SELECT, turnv1.StepKind_STEP_KIND_PLAN:
		if w.preparations++; w.preparations > 3 || len(w.running) > 0 {
			t.Fatalf("%s is too much", step.GetKey())
		}
	}
	if plan := step.GetPlan(); int(plan.GetCurrent()) > len(plan.GetSteps()) {
		t.Fatalf("%s works at a step that the plan does not have: %v", step.GetKey(), plan)
	}
}

func (w *world) isRunning(key string) bool {
	for _, step := range w.running {
		if step.GetKey() == key {
			return true
		}
	}
	return false
}

func (w *world) outcome(t *rapid.T, step *turnv1.StepRef) *turnv1.StepOutcome {
	o := &turnv1.StepOutcome{Key: step.GetKey(), Kind: step.GetKind()}
	if rapid.IntRange(0, 30).Draw(t, "error") == 0 && step.GetKind() != turnv1.StepKind_STEP_KIND_FINISH {
		o.Error = &turnv1.TurnError{Code: rapid.SampledFrom([]string{"model_rejected", engine.CodeDeadline}).Draw(t, "code")}
	}
	switch step.GetKind() {
	case turnv1.StepKind_STEP_KIND_BEGIN:
		o.Surface = w.surface
	case turnv1.StepKind_STEP_KIND_COMPACT:
		o.ContextTokens = rapid.Int64Range(0, 100).Draw(t, "left")
	case turnv1.StepKind_STEP_KIND_INFER:
		o.Usage = &turnv1.Usage{InputTokens: rapid.Int32Range(0, 60).Draw(t, "read"), OutputTokens: 1}
		o.ContextTokens = 30
		if o.GetError() == nil && rapid.IntRange(0, 9).Draw(t, "too long") == 0 {
			o.Error = &turnv1.TurnError{Code: engine.CodeContext}
			w.infers--
			return o
		}
		o.Inputs = w.inputs
		o.FinishReason = rapid.SampledFrom([]string{"stop", "tool_calls", "tool_calls", "tool_calls", "length"}).Draw(t, "reason")
		for i := range rapid.IntRange(0, 7).Draw(t, "calls") {
			o.Calls = append(o.Calls, &turnv1.ToolCallRef{CallId: fmt.Sprint(i), Tool: "t"})
		}
		if len(o.GetCalls()) == 0 && step.GetPlan().GetCurrent() > 0 {
			o.GaveUp = rapid.IntRange(0, 2).Draw(t, "gives up") == 0
		}
	case turnv1.StepKind_STEP_KIND_SELECT:
		o.Strategy = rapid.SampledFrom(strategies[:5]).Draw(t, "chosen")
	case turnv1.StepKind_STEP_KIND_PLAN:
		o.Plan = []string{"a", "b", "c"}[:rapid.IntRange(0, 3).Draw(t, "planned")]
	case turnv1.StepKind_STEP_KIND_TOOL:
		o.ContextTokens = rapid.Int64Range(0, 40).Draw(t, "result")
		o.CallHash = rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "hash")
		if o.GetError() == nil && rapid.IntRange(0, 4).Draw(t, "waits") == 0 {
			o.Wait = &turnv1.WaitRef{Id: step.GetKey(), Kind: turnv1.WaitKind(rapid.Int32Range(1, 5).Draw(t, "kind"))}
			w.waits = append(w.waits, step.GetKey())
		}
	case turnv1.StepKind_STEP_KIND_FINISH:
		w.ended = true
		if step.GetEnding().GetStopReason() == "" {
			t.Fatal("an end without a reason")
		}
		if step.GetEnding().GetStopReason() == engine.StopEnd && step.GetInputs() != w.inputs {
			o.Key = "refused" // as the journal does
			w.ended, w.started[stepkey.Finish] = false, false
		}
	}
	return o
}
