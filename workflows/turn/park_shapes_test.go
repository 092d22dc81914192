package turn_test

import (
	"errors"
	"testing"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"

	"github.com/windlass-dev/windlass/libs/testpoll"
	"github.com/windlass-dev/windlass/libs/testtemporal"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/workflows/contract"
	"github.com/windlass-dev/windlass/workflows/temporal/historytest"
	"github.com/windlass-dev/windlass/workflows/turn/turntest"
)

// TestAQuickAnswerFindsTheTurnWhereItWas: within the time that a turn stays it is one run, with a timer more than before there was parking.
func TestAQuickAnswerFindsTheTurnWhereItWas(t *testing.T) {
	l := newParking(t)
	l.parkAfter = contract.ParkAfter
	run := l.begin("trn_stayed", withTools)
	l.waits(run)
	testpoll.Until(t, "the turn is shown as waiting", func() bool {
		d, err := l.client.DescribeWorkflow(t.Context(), run.GetID(), "")
		if err != nil {
			t.Fatal(err)
		}
		return status(d) == contract.StatusWaiting
	})
	l.answer(turnv1.Verdict_VERDICT_APPROVED)(run, nil)
	id := run.GetRunID()
	if got := l.end(run); got != approved || run.GetRunID() != id {
		t.Errorf("result = %+v in run %s, began as %s", got, run.GetRunID(), id)
	}
	if *update {
		historytest.Write(t, histories, "stayed", l.history(run))
	}
	l.Model(turntest.Say("good morning"))
	quick := l.begin("trn_quick", withTools)
	l.end(quick)
	if n := l.statuses(quick); n != 1 {
		t.Errorf("the status of a turn that does not wait changed %d times", n)
	}
}

// statuses counts the events of a run that change what can be searched.
func (l *live) statuses(run client.WorkflowRun) (n int) {
	for _, e := range l.history(run).GetEvents() {
		if e.GetEventType() == enums.EVENT_TYPE_UPSERT_WORKFLOW_SEARCH_ATTRIBUTES {
			n++
		}
	}
	return n
}

// TestAParkedTurnThatNobodyAnswers keeps the history of the run that ends the wait, with -update.
func TestAParkedTurnThatNobodyAnswers(t *testing.T) {
	l := newParking(t)
	l.Model(turntest.CallTools("x__guarded_shortly", 1))
	run := l.begin("trn_expired", withTools)
	l.parked("trn_expired")
	if got := l.end(run); got != approved {
		t.Errorf("result = %+v", got)
	}
	if *update {
		last, err := l.client.DescribeWorkflow(t.Context(), "trn_expired", "")
		if err != nil {
			t.Fatal(err)
		}
		historytest.Write(t, histories, "parked-expired",
			l.history(l.client.GetWorkflow(t.Context(), "trn_expired", last.WorkflowExecution.RunID)))
	}
}

// TestAParkedTurnStaysWithItsVersion: Temporal counts it among the turns that need the version's workers, and they go on with it.
func TestAParkedTurnStaysWithItsVersion(t *testing.T) {
	l := &live{Mesh: turntest.New(t, turntest.Tool("x__guarded")), t: t, parkAfter: time.Millisecond}
	l.client = dial(t, testtemporal.Server(t))
	l.Tool(guarded)
	l.Model(turntest.CallTools("x__guarded", 1))
	l.version("1")
	run := l.begin("trn_versioned", withTools)
	parked := l.parked("trn_versioned").WorkflowExecution.RunID
	l.version("2")
	l.settle("what needs version 1", func() bool {
		n, err := l.client.CountWorkflow(t.Context(), &workflowservice.CountWorkflowExecutionsRequest{
			Query: `TemporalWorkerDeploymentVersion = "windlass:1" AND TemporalWorkflowVersioningBehavior = "Pinned" AND ExecutionStatus = "Running"`,
		})
		if err != nil {
			t.Fatal(err)
		}
		return n.GetCount() == 1
	})
	l.approve("trn_versioned")
	l.wake(run)
	if got := l.end(run); got != approved {
		t.Errorf("result = %+v", got)
	}
	for _, e := range l.history(l.client.GetWorkflow(t.Context(), "trn_versioned", parked)).GetEvents() {
		if e.GetEventType() != enums.EVENT_TYPE_WORKFLOW_TASK_COMPLETED {
			continue
		}
		if got := e.GetWorkflowTaskCompletedEventAttributes().GetDeploymentVersion().GetBuildId(); got != "1" {
			t.Errorf("a task was done by version %q", got)
		}
	}
}

// TestNewsThatComeBeforeTheStart: they start the turn; a later start, and a wake after its end, find that it exists.
func TestNewsThatComeBeforeTheStart(t *testing.T) {
	l := newParking(t)
	l.Model(turntest.Say("good morning"))
	options, in := l.order("trn_early")
	l.Journal.Add(in, withTools, "hello")
	run, err := l.client.SignalWithStartWorkflow(t.Context(), "trn_early", contract.SignalWake, nil, options, contract.TurnWorkflow, in)
	if err != nil {
		t.Fatal(err)
	}
	if got := l.end(run); got != (contract.TurnResult{Status: "completed", StopReason: "end", ModelCalls: 1}) {
		t.Errorf("result = %+v", got)
	}
	options.WorkflowExecutionErrorWhenAlreadyStarted = true
	_, err = l.client.ExecuteWorkflow(t.Context(), options, contract.TurnWorkflow, in)
	_, again := l.client.SignalWithStartWorkflow(t.Context(), "trn_early", contract.SignalWake, nil, options, contract.TurnWorkflow, in)
	for what, err := range map[string]error{"start": err, "wake": again} {
		if _, there := errors.AsType[*serviceerror.WorkflowExecutionAlreadyStarted](err); !there {
			t.Errorf("another %s: %v", what, err)
		}
	}
	l.once("trn_early")
}
