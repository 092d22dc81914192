package turn_test

import (
	"strings"
	"testing"

	"go.temporal.io/sdk/client"
	"google.golang.org/grpc"

	"github.com/windlass-dev/windlass/libs/testpoll"
	"github.com/windlass-dev/windlass/libs/testtemporal"
	inferencev1 "github.com/windlass-dev/windlass/proto/gen/windlass/inference/v1"
	policyv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policy/v1"
	registryv1 "github.com/windlass-dev/windlass/proto/gen/windlass/registry/v1"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/workflows/contract"
	"github.com/windlass-dev/windlass/workflows/turn/turntest"
)

// guarded is a registry some of whose tools need approval, one of them within a second.
func guarded(req *registryv1.CallToolRequest, stream grpc.ServerStreamingServer[registryv1.CallToolResponse]) error {
	rule := &policyv1.ApprovalRule{Name: "guarded"}
	switch {
	case !strings.HasPrefix(req.GetTool(), "x__guarded"), req.GetApproved() != nil:
		return turntest.Echo(req, stream)
	case req.GetTool() == "x__guarded_shortly":
		rule.ExpiresSeconds = 4
	case req.GetTool() == "x__guarded_briefly":
		rule.ExpiresSeconds = 1
	}
	return stream.Send(&registryv1.CallToolResponse{Event: &registryv1.CallToolResponse_ApprovalRequired{
		ApprovalRequired: &registryv1.ApprovalRequired{Rule: rule, ArgumentsHash: "a", DefinitionHash: "d"},
	}})
}

// waits returns when the turn waits for a person, and its workflow knows.
func (l *live) waits(run client.WorkflowRun) {
	l.t.Helper()
	testpoll.Until(l.t, "the turn waits", func() bool {
		d, err := l.client.DescribeWorkflow(l.t.Context(), run.GetID(), "")
		if err != nil {
			l.t.Fatal(err)
		}
		return len(l.Journal.Waits(run.GetID())) == 1 && d.HistoryLength > 4
	})
}

func (l *live) answer(v turnv1.Verdict) func(client.WorkflowRun, <-chan struct{}) {
	return func(run client.WorkflowRun, _ <-chan struct{}) {
		l.waits(run)
		l.Journal.Answer(run.GetID(), "tool-1.0", v)
		l.wake(run)
	}
}

// wake tells a turn's workflow of news as the sessions service does.
func (l *live) wake(run client.WorkflowRun) {
	options, in := l.order(run.GetID())
	_, err := l.client.SignalWithStartWorkflow(l.t.Context(), run.GetID(), contract.SignalWake, nil, options, contract.TurnWorkflow, in)
	if err != nil {
		l.t.Error(err)
	}
}

func (l *live) cancelWaiting(run client.WorkflowRun, _ <-chan struct{}) {
	l.waits(run)
	asked := make(chan struct{}, 1)
	asked <- struct{}{}
	l.cancel(run, asked)
}

// steer gives the turn more input while its workflow walks and the model is asked.
func (l *live) steer(steered chan struct{}) func(client.WorkflowRun, <-chan struct{}) {
	return func(run client.WorkflowRun, asked <-chan struct{}) {
		walks := make(chan struct{})
		l.afterJoin(walks)(run, asked)
		<-walks
		l.Journal.Steer(run.GetID(), "and more")
		l.wake(run)
		close(steered)
	}
}

// held has the model's answers wait.
func held(until <-chan struct{}, model turntest.Generate) turntest.Generate {
	return func(req *inferencev1.GenerateRequest, stream grpc.ServerStreamingServer[inferencev1.GenerateResponse]) error {
		<-until
		return model(req, stream)
	}
}

// TestATurnThatWaitsIsReadableInTemporal checks what a person sees of it.
func TestATurnThatWaitsIsReadableInTemporal(t *testing.T) {
	l := newLive(t, turntest.New(t, turntest.Tool("x__guarded")))
	l.Tool(guarded)
	l.Model(turntest.CallTools("x__guarded", 1))
	run := l.begin("trn_waits", &sessionsv1.Agent{Tools: []string{"*"}})
	l.answer(turnv1.Verdict_VERDICT_APPROVED)(run, nil)
	l.end(run)
	wantSummaries(t, l.history(run),
		`"tool x__guarded → waits for approval apr_trn_waits_tool-1.0"`, `"approval, tool x__guarded → approved"`)
	l.once(run.GetID())
}

// TestWorkersMayComeAndGoWhileATurnWaits: the worker that ran into the wait is gone, another goes on with the answer.
func TestWorkersMayComeAndGoWhileATurnWaits(t *testing.T) {
	mesh := turntest.New(t, turntest.Tool("x__guarded"))
	l := &live{Mesh: mesh, t: t}
	l.client = dial(t, testtemporal.Server(t))
	first := l.start("first", 0)
	l.Tool(guarded)
	l.Model(turntest.CallTools("x__guarded", 1))
	run := l.begin("trn_handed_on", &sessionsv1.Agent{Tools: []string{"*"}})
	l.waits(run)
	l.stop(first)
	l.Journal.Answer(run.GetID(), "tool-1.0", turnv1.Verdict_VERDICT_APPROVED) // no worker is notified
	l.start("second", 0)
	l.wake(run)
	if got := l.end(run); got != (contract.TurnResult{Status: "completed", StopReason: "end", ModelCalls: 2, ToolCalls: 1}) {
		t.Errorf("result = %+v", got)
	}
	l.once(run.GetID())
}
