package turn_test

import (
	"fmt"
	"slices"
	"testing"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/history/v1"
	"go.temporal.io/sdk/client"
	"google.golang.org/grpc"

	"github.com/windlass-dev/windlass/libs/testpoll"
	"github.com/windlass-dev/windlass/libs/testtemporal"
	inferencev1 "github.com/windlass-dev/windlass/proto/gen/windlass/inference/v1"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/workflows/contract"
	"github.com/windlass-dev/windlass/workflows/temporal"
	"github.com/windlass-dev/windlass/workflows/temporal/historytest"
	"github.com/windlass-dev/windlass/workflows/turn"
	"github.com/windlass-dev/windlass/workflows/turn/turntest"
)

// TestALongTurnContinuesAsNew runs a turn on a server that finds histories long early: it takes several runs of the workflow, each with a
// short history, and every step is done once.
func TestALongTurnContinuesAsNew(t *testing.T) {
	const most = 25 // events after which the server suggests a new run
	l := &live{Mesh: turntest.New(t, turntest.Tool("x__echo")), t: t}
	l.client = dial(t, testtemporal.Server(t, "--dynamic-config-value", "limit.historyCount.suggestContinueAsNew=25"))
	l.worker = l.start("worker-1", 0)
	l.Model(l.walked("trn_1", turntest.CallTools("x__echo", 1, 1, 1, 1, 1, 1)))
	first := l.begin("trn_1", &sessionsv1.Agent{Tools: []string{"*"}})
	run := l.client.GetWorkflow(t.Context(), first.GetID(), first.GetRunID()) // the one that is waited for moves on with the runs
	want := contract.TurnResult{Status: "completed", StopReason: "end", ModelCalls: 7, ToolCalls: 6}
	if got := l.end(first); got != want {
		t.Errorf("result = %+v, want %+v", got, want)
	}
	runs := 1
	for ; ; runs++ {
		h := l.history(run)
		events := h.GetEvents()
		if *update && runs <= 2 {
			historytest.Write(t, histories, fmt.Sprintf("continued-%d", runs), h)
		}
		if len(events) > most+10 {
			t.Errorf("run %d has %d events", runs, len(events))
		}
		last := events[len(events)-1].GetWorkflowExecutionContinuedAsNewEventAttributes()
		if last == nil {
			break
		}
		run = l.client.GetWorkflow(t.Context(), run.GetID(), last.GetNewExecutionRunId())
	}
	t.Logf("%d runs", runs)
	if runs < 2 {
		t.Error("it never continued as new")
	}
	commits := l.Journal.Commits("trn_1")
	for step, n := range commits {
		if n != 1 {
			t.Errorf("step %s was written %d times", step, n)
		}
	}
	if len(commits) != 15 { // begin, finish, 7 answers, 6 calls
		t.Errorf("steps: %v", commits)
	}
}

// walked has each answer of the model wait until the workflow has begun that step itself: the turn does not run away from it.
func (l *live) walked(turnID string, model turntest.Generate) turntest.Generate {
	return func(req *inferencev1.GenerateRequest, stream grpc.ServerStreamingServer[inferencev1.GenerateResponse]) error {
		answers := 0
		for _, m := range req.GetMessages() {
			if m.GetRole() == turnv1.Role_ROLE_ASSISTANT {
				answers++
			}
		}
		title := fmt.Sprintf("%q", fmt.Sprintf("infer #%d", answers+1))
		testpoll.Until(l.t, "the workflow has begun "+title, func() bool {
			run := l.client.GetWorkflow(l.t.Context(), turnID, "") // the present one
			return slices.ContainsFunc(l.history(run).GetEvents(), func(e *history.HistoryEvent) bool {
				return e.GetActivityTaskScheduledEventAttributes() != nil && string(e.GetUserMetadata().GetSummary().GetData()) == title
			})
		})
		return model(req, stream)
	}
}

// TestATurnStaysWithTheVersionItBeganWith: version 1 has a turn that waits for approval while version 2 becomes the one for new turns.
func TestATurnStaysWithTheVersionItBeganWith(t *testing.T) {
	l := &live{Mesh: turntest.New(t, turntest.Tool("x__guarded")), t: t}
	l.client = dial(t, testtemporal.Server(t))
	l.Tool(guarded)
	l.Model(turntest.CallTools("x__guarded", 1))
	agent := &sessionsv1.Agent{Tools: []string{"*"}}

	l.version("1")
	old := l.begin("trn_old", agent)
	l.waits(old)
	l.version("2")
	young := l.begin("trn_young", agent)
	l.waits(young)
	for _, run := range []client.WorkflowRun{old, young} {
		l.answer(turnv1.Verdict_VERDICT_APPROVED)(run, nil)
		if r := l.end(run); r.Status != "completed" {
			t.Errorf("%s: %+v", run.GetID(), r)
		}
	}
	for run, want := range map[client.WorkflowRun]string{old: "1", young: "2"} {
		for _, e := range l.history(run).GetEvents() {
			if e.GetEventType() != enums.EVENT_TYPE_WORKFLOW_TASK_COMPLETED {
				continue
			}
			if got := e.GetWorkflowTaskCompletedEventAttributes().GetDeploymentVersion().GetBuildId(); got != want {
				t.Errorf("%s: a task was done by version %q, want %q", run.GetID(), got, want)
			}
		}
	}
	list, err := temporal.Versions(t.Context(), l.client, "windlass")
	if err != nil || len(list) != 2 {
		t.Fatalf("versions %+v, %v", list, err)
	}
	for _, v := range list {
		if (v.BuildID == "2") != (v.State == "current") {
			t.Errorf("version %+v", v)
		}
	}
}

// version starts a worker of that version and has it take all new turns.
func (l *live) version(build string) {
	l.t.Helper()
	l.startAs(turn.Config{ID: "worker-" + build, Deployment: "windlass", BuildID: build})
	testpoll.Until(l.t, "the server has seen the worker poll", func() bool {
		return temporal.Promote(l.t.Context(), l.client, "windlass", build) == nil
	})
}
