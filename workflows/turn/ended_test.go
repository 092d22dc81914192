package turn

import (
	"errors"
	"testing"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"github.com/windlass-dev/windlass/workflows/contract"
)

// ended is the input of a turn that was over before its workflow.
func ended(r contract.TurnResult) contract.TurnInput {
	in := input
	in.Ended = &contract.Ended{TurnResult: r, Steps: []string{"1. begin → model m, 0 tools", "2. finish → " + r.StopReason}}
	return in
}

// TestATurnThatIsOverIsOnlyRecorded: its workflow runs no activity and closes as the turn ended.
func TestATurnThatIsOverIsOnlyRecorded(t *testing.T) {
	for _, want := range []contract.TurnResult{
		{Status: contract.StatusCompleted, StopReason: "end", ModelCalls: 2, ToolCalls: 1},
		{Status: contract.StatusFailed, StopReason: "error", ErrorCode: "model_rejected", ModelCalls: 1},
		{Status: contract.StatusCancelled, StopReason: "cancelled"},
	} {
		t.Run(want.Status, func(t *testing.T) {
			s := newScript()
			env := start(t, s)
			env.ExecuteWorkflow(contract.TurnWorkflow, ended(want))
			if got := resultOf(t, env); got != want {
				t.Errorf("result = %+v, want %+v", got, want)
			}
			if len(s.done) > 0 || s.looks > 0 {
				t.Errorf("it ran %v and read the journal %d times", s.done, s.looks)
			}
			failed, isFailed := errors.AsType[*temporal.ApplicationError](env.GetWorkflowError())
			if isFailed != (want.ErrorCode != "") || isFailed && failed.Type() != want.ErrorCode {
				t.Errorf("the workflow ended with %v", env.GetWorkflowError())
			}
		})
	}
}

// TestTheEndOfAnotherTurnIsNotRecorded: who can start workflows has copies of inputs at most.
func TestTheEndOfAnotherTurnIsNotRecorded(t *testing.T) {
	env := start(t, newScript())
	env.SetStartWorkflowOptions(client.StartWorkflowOptions{ID: "trn_2"})
	env.ExecuteWorkflow(contract.TurnWorkflow, ended(contract.TurnResult{Status: contract.StatusCompleted}))
	if failed, ok := errors.AsType[*temporal.ApplicationError](env.GetWorkflowError()); !ok || failed.Type() != typeForeign {
		t.Errorf("the workflow ended with %v", env.GetWorkflowError())
	}
}

func TestTheMarkerNamesTheSteps(t *testing.T) {
	few := []string{"1. begin → model m, 1 tools", "2. infer #1 → calls a__b", "3. tool a__b → done", "4. finish → end"}
	if got := titles(few); got != "begin, infer #1, tool a__b, finish" {
		t.Error(got)
	}
	var many []string
	for range 20 {
		many = append(many, "7. tool calculator__evaluate → done")
	}
	if got := titles(many); got != "tool calculator__evaluate, tool calculator__evaluate, tool calculator__evaluate, and 17 more" {
		t.Error(got)
	}
}
