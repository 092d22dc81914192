package engine_test

import (
	"testing"
	"time"

	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/workflows/contract/stepkey"
	"github.com/windlass-dev/windlass/workflows/turn/engine"
)

func waits(kind turnv1.WaitKind, key string, expire time.Time) *turnv1.StepOutcome {
	w := &turnv1.WaitRef{Id: "apr_" + key, Kind: kind}
	if !expire.IsZero() {
		w.ExpireMicros = expire.UnixMicro()
	}
	return &turnv1.StepOutcome{Key: key, Kind: turnv1.StepKind_STEP_KIND_TOOL, Wait: w}
}

// TestACallThatWaits walks a turn with two calls, one of which waits twice.
func TestACallThatWaits(t *testing.T) {
	deadline, later := now.Add(time.Minute), now.Add(10*time.Minute)
	begin := &turnv1.StepOutcome{Key: "begin", Kind: turnv1.StepKind_STEP_KIND_BEGIN, Surface: &turnv1.Surface{
		Strategy: turnv1.Strategy_STRATEGY_REACT, MaxSteps: 5, MaxParallelTools: 4, DeadlineMicros: deadline.UnixMicro(),
	}}
	asked := &turnv1.StepOutcome{Key: "infer-1", Kind: turnv1.StepKind_STEP_KIND_INFER, Calls: []*turnv1.ToolCallRef{
		{CallId: "a", Tool: "x"}, {CallId: "b", Tool: "y"},
	}}
	outcomes := []*turnv1.StepOutcome{begin, asked}
	for _, row := range []struct {
		name    string
		add     []*turnv1.StepOutcome
		at      time.Time
		steps   []string
		waiting bool
		wake    time.Time
	}{
		{name: "both run", steps: []string{"tool-1.0", "tool-1.1"}},
		{
			name: "one waits, the other goes on", add: []*turnv1.StepOutcome{waits(turnv1.WaitKind_WAIT_KIND_APPROVAL, "tool-1.0", later)},
			steps: []string{"tool-1.1"}, waiting: true, wake: later,
		},
		{
			name: "nothing to do but wait, though the time is up",
			add:  []*turnv1.StepOutcome{{Key: "tool-1.1", Kind: turnv1.StepKind_STEP_KIND_TOOL}},
			at:   now.Add(time.Hour), waiting: true, wake: later,
		},
		{
			name: "the answer is there, and the time moved",
			add:  []*turnv1.StepOutcome{{Key: "wait-1.0", Kind: turnv1.StepKind_STEP_KIND_WAIT, DeadlineMicros: later.UnixMicro()}},
			at:   now.Add(5 * time.Minute), steps: []string{"tool-1.0.2"},
		},
		{
			name:    "it waits again, for a child: the time runs",
			add:     []*turnv1.StepOutcome{waits(turnv1.WaitKind_WAIT_KIND_CHILD, "tool-1.0.2", time.Time{})},
			waiting: true, wake: later,
		},
		{name: "until the time is up", at: later, steps: []string{"finish"}},
		{
			name: "the child waits for a person: the time stands still", waiting: true, at: later.Add(time.Hour),
			add: []*turnv1.StepOutcome{{Key: "pause-1", Kind: turnv1.StepKind_STEP_KIND_WAIT, CommittedMicros: now.UnixMicro()}},
		},
		{
			name: "the person has answered: the time runs again, from where it stood", waiting: true, at: later.Add(time.Hour),
			wake: later.Add(2 * time.Hour),
			add: []*turnv1.StepOutcome{{
				Key: "resume-1", Kind: turnv1.StepKind_STEP_KIND_WAIT, CommittedMicros: later.Add(time.Hour).UnixMicro(),
				DeadlineMicros: later.Add(2 * time.Hour).UnixMicro(),
			}},
		},
		{name: "until it is up, later", at: later.Add(2 * time.Hour), steps: []string{"finish"}},
		{
			name: "or the child has ended", add: []*turnv1.StepOutcome{{Key: "wait-1.0.2", Kind: turnv1.StepKind_STEP_KIND_WAIT}},
			steps: []string{"tool-1.0.3"},
		},
		{
			name: "then the model goes on", add: []*turnv1.StepOutcome{{Key: "tool-1.0.3", Kind: turnv1.StepKind_STEP_KIND_TOOL}},
			steps: []string{"infer-2"},
		},
	} {
		outcomes = append(outcomes, row.add...)
		at := row.at
		if at.IsZero() {
			at = now
		}
		d := engine.Next(engine.State{Outcomes: outcomes, Now: at})
		var keys []string
		for _, s := range d.Steps {
			keys = append(keys, s.GetKey())
			if s.GetKind() == turnv1.StepKind_STEP_KIND_TOOL && s.GetRound() > 1 && s.GetWait() == nil {
				t.Errorf("%s: %s does not know what it goes on with", row.name, s.GetKey())
			}
		}
		if !equal(keys, row.steps) || d.Waiting != row.waiting || !d.Wake.Equal(row.wake) {
			t.Errorf("%s: %v, waiting %v until %v; want %v, %v, %v", row.name, keys, d.Waiting, d.Wake, row.steps, row.waiting, row.wake)
		}
	}
	if got, want := engine.Deadline(outcomes), later.Add(2*time.Hour); !got.Equal(want) {
		t.Errorf("deadline %v, want %v", got, want)
	}
}

// TestSteeredTurnGoesOn: an answer that was given before the model read all input is not the turn's answer.
func TestSteeredTurnGoesOn(t *testing.T) {
	outcomes := []*turnv1.StepOutcome{
		{Key: "begin", Kind: turnv1.StepKind_STEP_KIND_BEGIN, Surface: &turnv1.Surface{Strategy: turnv1.Strategy_STRATEGY_REACT, MaxSteps: 3}},
		{Key: "infer-1", Kind: turnv1.StepKind_STEP_KIND_INFER, FinishReason: "stop"},
		{Key: "steer-1", Kind: turnv1.StepKind_STEP_KIND_STEER},
	}
	if d := engine.Next(engine.State{Outcomes: outcomes, Now: now}); d.Steps[0].GetKey() != "infer-2" {
		t.Errorf("next is %v", d.Steps)
	}
	outcomes = append(outcomes, &turnv1.StepOutcome{Key: "infer-2", Kind: turnv1.StepKind_STEP_KIND_INFER, FinishReason: "stop", Inputs: 1})
	d := engine.Next(engine.State{Outcomes: outcomes, Now: now})
	if !d.IsFinish() || d.Steps[0].GetInputs() != 1 || d.Steps[0].GetEnding().GetStopReason() != engine.StopEnd {
		t.Errorf("next is %v", d.Steps)
	}
}

func equal(a, b []string) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

// TestTimeStandsStillWhilePeopleAreWaitedFor: a step that goes on while another call waits has as much time as was left when the
// pause began.
func TestTimeStandsStillWhilePeopleAreWaitedFor(t *testing.T) {
	at := func(minutes int) int64 { return now.Add(time.Duration(minutes) * time.Minute).UnixMicro() }
	committed := func(o *turnv1.StepOutcome, minutes int) *turnv1.StepOutcome {
		o.CommittedMicros = at(minutes)
		return o
	}
	outcomes := []*turnv1.StepOutcome{
		{Key: "begin", Kind: turnv1.StepKind_STEP_KIND_BEGIN, Surface: &turnv1.Surface{
			Strategy: turnv1.Strategy_STRATEGY_REACT, MaxSteps: 5, MaxParallelTools: 4, DeadlineMicros: at(30),
		}},
		{Key: "infer-1", Kind: turnv1.StepKind_STEP_KIND_INFER, Calls: []*turnv1.ToolCallRef{{CallId: "a", Tool: "x"}, {CallId: "b", Tool: "y"}}},
		committed(waits(turnv1.WaitKind_WAIT_KIND_APPROVAL, "tool-1.0", time.Time{}), 10),
		committed(waits(turnv1.WaitKind_WAIT_KIND_APPROVAL, "tool-1.1", time.Time{}), 12),
		committed(&turnv1.StepOutcome{Key: "wait-1.0", Kind: turnv1.StepKind_STEP_KIND_WAIT}, 1000),
	}
	d := engine.Next(engine.State{Outcomes: outcomes, Now: now.Add(1000 * time.Minute)})
	if len(d.Steps) != 1 || d.Steps[0].GetKey() != "tool-1.0.2" || d.Steps[0].GetDeadlineMicros() != at(1000+20) {
		t.Errorf("next is %v", d.Steps)
	}
	if got := stepkey.FirstRound(d.Steps[0].GetKey()); got != "tool-1.0" {
		t.Errorf("key of the call is %s", got)
	}
}
