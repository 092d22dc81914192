package turn_test

import (
	"errors"
	"strings"
	"sync/atomic"
	"testing"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
	"google.golang.org/grpc"

	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/testpoll"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	inferencev1 "github.com/windlass-dev/windlass/proto/gen/windlass/inference/v1"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/workflows/contract"
	"github.com/windlass-dev/windlass/workflows/temporal/historytest"
	"github.com/windlass-dev/windlass/workflows/turn"
	"github.com/windlass-dev/windlass/workflows/turn/turntest"
)

// histories of turns of each shape, from the first release on.
const histories = "testdata/histories"

// TestHistoriesReplay: a changed workflow must be able to go on with the turns of its predecessors. A history that is here stays;
// a new shape adds one.
func TestHistoriesReplay(t *testing.T) {
	historytest.Replay(t, histories, func(r worker.WorkflowReplayer) {
		r.RegisterWorkflowWithOptions(turn.Turn, workflow.RegisterOptions{Name: contract.TurnWorkflow})
	})
}

// TestShapes runs one turn of each shape on a real server, and keeps their histories with -update.
func TestShapes(t *testing.T) {
	l := newLive(t, turntest.New(t, turntest.Tool("x__echo"), turntest.Tool("x__guarded"), turntest.Tool("x__guarded_briefly")))
	rejected := fault.FailedPrecondition(faultv1.Reason_REASON_MODEL_REJECTED, "do-not-keep: the key is wrong")
	withTools := &sessionsv1.Agent{Tools: []string{"*"}}
	joined, steered := make(chan struct{}), make(chan struct{})
	l.Tool(guarded)
	for _, row := range []struct {
		name  string
		agent *sessionsv1.Agent
		model turntest.Generate
		while func(run client.WorkflowRun, asked <-chan struct{})
		want  contract.TurnResult
	}{
		{
			name: "join-short", agent: withTools, model: turntest.CallTools("x__echo", 2),
			want: contract.TurnResult{Status: "completed", StopReason: "end", ModelCalls: 2, ToolCalls: 2},
		},
		{
			name: "join-long", agent: withTools, model: slowly(joined, turntest.CallTools("x__echo", 2, 1)), while: l.afterJoin(joined),
			want: contract.TurnResult{Status: "completed", StopReason: "end", ModelCalls: 3, ToolCalls: 3},
		},
		{
			name: "answer", agent: &sessionsv1.Agent{}, model: turntest.Say("good ", "morning"),
			want: contract.TurnResult{Status: "completed", StopReason: "end", ModelCalls: 1},
		},
		{
			name: "tools", agent: withTools, model: turntest.CallTools("x__echo", 3, 1),
			want: contract.TurnResult{Status: "completed", StopReason: "end", ModelCalls: 3, ToolCalls: 4},
		},
		{
			name: "react_text", agent: &sessionsv1.Agent{Tools: []string{"*"}, Strategy: turnv1.Strategy_STRATEGY_REACT_TEXT}, model: strategist,
			want: contract.TurnResult{Status: "completed", StopReason: "end", ModelCalls: 2, ToolCalls: 1},
		},
		{
			name: "plan", agent: &sessionsv1.Agent{Tools: []string{"*"}, Strategy: turnv1.Strategy_STRATEGY_PLAN}, model: strategist,
			want: contract.TurnResult{Status: "completed", StopReason: "end", ModelCalls: 6, ToolCalls: 2},
		},
		{
			name: "auto", agent: &sessionsv1.Agent{Tools: []string{"*"}, Strategy: turnv1.Strategy_STRATEGY_AUTO}, model: strategist,
			want: contract.TurnResult{Status: "completed", StopReason: "end", ModelCalls: 7, ToolCalls: 2},
		},
		{
			name: "max_steps", agent: &sessionsv1.Agent{Tools: []string{"*"}, Limits: &sessionsv1.Limits{MaxSteps: 1}},
			model: turntest.CallTools("x__echo", 1), want: contract.TurnResult{Status: "completed", StopReason: "max_steps", ModelCalls: 1},
		},
		{
			name: "cancelled", agent: &sessionsv1.Agent{}, while: l.cancel,
			want: contract.TurnResult{Status: "cancelled", StopReason: "cancelled", ModelCalls: 1},
		},
		{
			name: "cancelled-in-temporal", agent: &sessionsv1.Agent{}, while: l.cancelWorkflow,
			want: contract.TurnResult{Status: "cancelled", StopReason: "cancelled", ModelCalls: 1},
		},
		{
			name: "failed", agent: &sessionsv1.Agent{},
			model: func(*inferencev1.GenerateRequest, grpc.ServerStreamingServer[inferencev1.GenerateResponse]) error {
				return rejected
			},
			want: contract.TurnResult{Status: "failed", StopReason: "error", ErrorCode: "model_rejected", ModelCalls: 1},
		},
		{
			name: "approval", agent: withTools, model: turntest.CallTools("x__guarded", 1), while: l.answer(turnv1.Verdict_VERDICT_APPROVED),
			want: contract.TurnResult{Status: "completed", StopReason: "end", ModelCalls: 2, ToolCalls: 1},
		},
		{
			name: "approval-expired", agent: withTools, model: turntest.CallTools("x__guarded_briefly", 1),
			want: contract.TurnResult{Status: "completed", StopReason: "end", ModelCalls: 2, ToolCalls: 1},
		},
		{
			name: "approval-cancelled", agent: withTools, model: turntest.CallTools("x__guarded", 1), while: l.cancelWaiting,
			want: contract.TurnResult{Status: "cancelled", StopReason: "cancelled", ModelCalls: 1},
		},
		{
			name: "steer", agent: &sessionsv1.Agent{}, model: held(steered, turntest.Say("ok")), while: l.steer(steered),
			want: contract.TurnResult{Status: "completed", StopReason: "end", ModelCalls: 2},
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			asked := make(chan struct{}, 1)
			if row.model == nil {
				row.model = hang(asked)
			}
			l.Model(row.model)
			run := l.begin("trn_"+row.name, row.agent)
			if row.while != nil {
				row.while(run, asked)
			}
			if got := l.end(run); got != row.want {
				t.Errorf("result = %+v, want %+v", got, row.want)
			}
			h := l.history(run)
			if strings.Contains(h.String(), "do-not-keep") {
				t.Errorf("the history holds text: %s", h)
			}
			if want := l.Journal.Ending(run.GetID()).GetError(); want != nil && want.GetMessage() != "do-not-keep: the key is wrong" {
				t.Errorf("the journal has %v", want)
			}
			if *update {
				historytest.Write(t, histories, row.name, h)
			}
		})
	}
}

// hang is a model that says something, tells so, and waits for its caller to go away.
func hang(asked chan<- struct{}) turntest.Generate {
	return func(_ *inferencev1.GenerateRequest, stream grpc.ServerStreamingServer[inferencev1.GenerateResponse]) error {
		if err := stream.Send(&inferencev1.GenerateResponse{Event: &inferencev1.GenerateResponse_TextDelta{TextDelta: "so far"}}); err != nil {
			return err
		}
		asked <- struct{}{}
		<-stream.Context().Done()
		return stream.Context().Err()
	}
}

// slowly has the model's second answer wait.
func slowly(until <-chan struct{}, model turntest.Generate) turntest.Generate {
	var calls atomic.Int32
	return func(req *inferencev1.GenerateRequest, stream grpc.ServerStreamingServer[inferencev1.GenerateResponse]) error {
		if calls.Add(1) == 2 {
			<-until
		}
		return model(req, stream)
	}
}

// afterJoin closes the channel when the workflow walks.
func (l *live) afterJoin(joined chan<- struct{}) func(client.WorkflowRun, <-chan struct{}) {
	return func(run client.WorkflowRun, _ <-chan struct{}) {
		l.pending(run.GetID())
		close(joined)
	}
}

// pending returns when the turn's workflow has begun a step itself.
func (l *live) pending(turnID string) {
	testpoll.Until(l.t, "an activity of the turn is pending", func() bool {
		d, err := l.client.DescribeWorkflowExecution(l.t.Context(), turnID, "")
		if err != nil {
			l.t.Error(err)
		}
		return err != nil || len(d.GetPendingActivities()) > 0
	})
}

// cancel does what the sessions service does: the journal first, then the signal.
func (l *live) cancel(run client.WorkflowRun, asked <-chan struct{}) {
	<-asked
	l.Journal.Cancel(run.GetID())
	err := l.client.SignalWorkflow(l.t.Context(), run.GetID(), "", contract.SignalCancel, nil)
	if _, over := errors.AsType[*serviceerror.NotFound](err); err != nil && !over { // its step may have seen the journal first
		l.t.Error(err)
	}
}

// cancelWorkflow is what the button in the Temporal UI does.
func (l *live) cancelWorkflow(run client.WorkflowRun, asked <-chan struct{}) {
	<-asked
	if err := l.client.CancelWorkflow(l.t.Context(), run.GetID(), ""); err != nil {
		l.t.Error(err)
	}
}

// TestTurnIsReadableInTemporal checks what a person sees: summaries of the steps, the turn's details, its search attributes.
func TestTurnIsReadableInTemporal(t *testing.T) {
	l := newEager(t, turntest.New(t, turntest.Tool("x__echo")))
	l.Model(turntest.CallTools("x__echo", 1))
	run := l.begin("trn_readable", &sessionsv1.Agent{Tools: []string{"*"}})
	l.end(run)
	wantSummaries(t, l.history(run),
		`"agent helper, session ses_1"`, `"join the eager run"`, `"begin → model test/model, 1 tools, revision 0"`, `"infer #1 → calls x__echo"`,
		`"tool x__echo → done"`,
		`"infer #2 → stop, 5 tokens"`, `"finish → end"`)
	d, err := l.client.DescribeWorkflowExecution(t.Context(), run.GetID(), "")
	if err != nil {
		t.Fatal(err)
	}
	attributes := d.GetWorkflowExecutionInfo().GetSearchAttributes().GetIndexedFields()
	for name, want := range map[string]string{
		contract.AttributeStatus: `"completed"`, contract.AttributeAgent: `"helper"`, contract.AttributeSession: `"ses_1"`,
		contract.AttributeTenant: `"default"`,
	} {
		if got := string(attributes[name].GetData()); got != want {
			t.Errorf("%s = %s, want %s", name, got, want)
		}
	}
}
