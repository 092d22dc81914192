package steptest

import (
	"errors"
	"slices"
	"strings"

	executionv1 "github.com/windlass-dev/windlass/proto/gen/windlass/execution/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/workflows/turn/step"
)

// Advance runs the turn until it ends, and returns all outcomes.
func (w *World) Advance() []*turnv1.StepOutcome {
	w.T.Helper()
	out, err := w.Runner.Advance(w.T.Context(), In, nil)
	if err != nil {
		w.T.Fatal(err)
	}
	return out
}

// Once checks that exactly the given steps were committed, each once. want has their keys, sorted and separated by spaces.
func (w *World) Once(want string) {
	w.T.Helper()
	var keys []string
	for key, n := range w.Journal.Commits(In.TurnID) {
		if n > 0 {
			keys = append(keys, key)
		}
		if n > 1 {
			w.T.Errorf("%s was committed %d times", key, n)
		}
	}
	slices.Sort(keys)
	if got := strings.Join(keys, " "); got != want {
		w.T.Errorf("steps %s\nwant  %s", got, want)
	}
}

// Completed returns the turn's last message.completed event.
func (w *World) Completed() *turnv1.MessageCompleted {
	w.T.Helper()
	var last *turnv1.MessageCompleted
	for _, e := range w.Journal.Events(In.TurnID) {
		if e.GetMessageCompleted() != nil {
			last = e.GetMessageCompleted()
		}
	}
	if last == nil {
		w.T.Fatal("no message was completed")
	}
	return last
}

// Outcome returns the outcome of a step, which must be done.
func (w *World) Outcome(key string) *turnv1.StepOutcome {
	w.T.Helper()
	now, err := w.Runner.Outcomes(w.T.Context(), In)
	if err != nil {
		w.T.Fatal(err)
	}
	for _, o := range now.GetOutcomes() {
		if o.GetKey() == key {
			return o
		}
	}
	w.T.Fatalf("step %s is not done", key)
	return nil
}

// Result returns the turn's last tool_call.completed event.
func (w *World) Result() *turnv1.ToolCallCompleted {
	w.T.Helper()
	var last *turnv1.ToolCallCompleted
	for _, e := range w.Journal.Events(In.TurnID) {
		if e.GetToolCallCompleted() != nil {
			last = e.GetToolCallCompleted()
		}
	}
	if last == nil {
		w.T.Fatal("no call was completed")
	}
	return last
}

// MustWait runs the turn until it waits, and returns its open waits. There must be n of them.
func (w *World) MustWait(n int) []*executionv1.Wait {
	w.T.Helper()
	if _, err := w.Runner.Advance(w.T.Context(), In, nil); !errors.Is(err, step.ErrWaiting) {
		w.T.Fatalf("advance: %v", err)
	}
	waits := w.Journal.Waits(In.TurnID)
	if len(waits) != n {
		w.T.Fatalf("waits for %v", waits)
	}
	return waits
}

// Answer ends the open wait of a step with a verdict; see turntest.Journal.Answer.
func (w *World) Answer(key string, v turnv1.Verdict, fill ...func(*executionv1.Wait)) {
	w.Journal.Answer(In.TurnID, key, v, fill...)
}

// Triggered renders the turn's shield.triggered events.
func (w *World) Triggered() string {
	var out []string
	for _, e := range w.Journal.Events(In.TurnID) {
		if s := e.GetShieldTriggered(); s != nil {
			out = append(out, strings.Join(
				append([]string{e.GetStep(), s.GetShield(), s.GetStage(), s.GetAction(), s.GetCallId()}, s.GetCategories()...), " ",
			))
		}
	}
	return strings.Join(out, ", ")
}
