package turn_test

import (
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/windlass-dev/windlass/workflows/contract"
	"github.com/windlass-dev/windlass/workflows/temporal/historytest"
	"github.com/windlass-dev/windlass/workflows/turn/turntest"
)

// TestShapesOfTurnsThatAreOver: the workflow of a turn that was over before it has six events, whatever the turn's end.
func TestShapesOfTurnsThatAreOver(t *testing.T) {
	l := newLive(t, turntest.New(t))
	for _, want := range []contract.TurnResult{
		{Status: contract.StatusCompleted, StopReason: "end", ModelCalls: 2, ToolCalls: 1},
		{Status: contract.StatusFailed, StopReason: "error", ErrorCode: "model_rejected", ModelCalls: 1},
		{Status: contract.StatusCancelled, StopReason: "cancelled", ModelCalls: 1},
	} {
		options, in := l.order("trn_" + want.Status)
		in.Ended = &contract.Ended{TurnResult: want, Steps: []string{
			"1. begin → model test/model, 1 tools, revision 0 (300µs since 09:30:01.250, attempt 1 on worker-1)",
			"2. infer #1 → calls x__echo (1.2s since 09:30:01.251)", "3. tool x__echo → done (20ms since 09:30:02.451)",
			"4. infer #2 → stop, 5 tokens (1.1s since 09:30:02.472)", "5. finish → " + want.StopReason,
		}}
		run, err := l.client.ExecuteWorkflow(t.Context(), options, contract.TurnWorkflow, in)
		if err != nil {
			t.Fatal(err)
		}
		if got := l.end(run); got != want {
			t.Errorf("result = %+v, want %+v", got, want)
		}
		h := l.history(run)
		if n := len(h.GetEvents()); n != 6 {
			t.Errorf("a turn that is %s has %d events: %s", want.Status, n, h)
		}
		t.Logf("%s: %d bytes", want.Status, proto.Size(h))
		wantSummaries(t, h, `"agent helper, session ses_1"`, `"begin, infer #1, tool x__echo, infer #2, finish"`)
		if *update {
			historytest.Write(t, histories, "over-"+want.Status, h)
		}
	}
}
