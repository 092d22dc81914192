package turn

import (
	"context"
	"errors"
	"strings"
	"testing"

	"go.temporal.io/sdk/workflow"

	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/workflows/contract"
)

// TestALongHistoryGoesOnInANewOne: the run ends between two steps, and hands over nothing but the turn's name.
func TestALongHistoryGoesOnInANewOne(t *testing.T) {
	s := newScript(2, 1)
	env := start(t, s)
	env.SetContinueAsNewSuggested(true)
	env.ExecuteWorkflow(contract.TurnWorkflow, input)
	var next *workflow.ContinueAsNewError
	if err := env.GetWorkflowError(); !errors.As(err, &next) || next.WorkflowType.Name != contract.TurnWorkflow {
		t.Fatalf("error %v, want to continue as new", err)
	}
	if got := strings.Join(s.done, " "); got != "begin" {
		t.Errorf("steps before: %s", got)
	}

	s = newScript(2, 1)
	again := start(t, s)
	s.seen = []*turnv1.StepOutcome{
		s.began(1), s.ahead("infer-1", inferKind, 2, calls(2)), s.ahead("tool-1.0", toolKind, 3, nil), s.ahead("tool-1.1", toolKind, 4, nil),
	}
	again.SetContinuedExecutionRunID("the-first")
	if r := finish(t, again); (r != contract.TurnResult{Status: "completed", StopReason: "end", ModelCalls: 3, ToolCalls: 3}) {
		t.Errorf("result = %+v", r)
	}
	if got := strings.Join(s.done, " "); got != "infer-2 tool-2.0 infer-3 finish" {
		t.Errorf("steps after: %s", got)
	}
}

// TestACancelIsNotLostWithTheHistory: a signal that arrives with the task that would end the run is handled first.
func TestACancelIsNotLostWithTheHistory(t *testing.T) {
	s := newScript(1)
	env := start(t, s)
	env.SetContinueAsNewSuggested(true)
	s.steps["begin"] = func(_ context.Context, _ int) (*turnv1.StepOutcome, error) {
		env.SignalWorkflow(contract.SignalCancel, nil)
		return surface(s.now(), 1), nil
	}
	if r := finish(t, env); r.Status != "cancelled" {
		t.Errorf("result = %+v", r)
	}
}
