package e2e

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.temporal.io/api/common/v1"
	"go.temporal.io/api/enums/v1"
	sdkpb "go.temporal.io/api/sdk/v1"
	"go.temporal.io/api/workflowservice/v1"
	tclient "go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"

	"github.com/windlass-dev/windlass/test/harness"
	"github.com/windlass-dev/windlass/workflows/contract"
)

// operator is a person in the Temporal UI: its buttons make these calls.
type operator struct {
	t  *testing.T
	up *harness.Embedded
	tc tclient.Client
}

func newOperator(t *testing.T, up *harness.Embedded) operator {
	t.Helper()
	return operator{t, up, up.Temporal(t)}
}

// status waits until the UI shows a status for a turn's workflow.
func (o operator) status(turn, want string) {
	o.t.Helper()
	until(o.t, turn+" is "+want, func() bool {
		d, err := o.tc.DescribeWorkflow(o.t.Context(), turn, "")
		return err == nil && strings.EqualFold(d.Status.String(), want)
	})
}

// count waits until a query of the how-to page finds n workflows.
func (o operator) count(query string, n int64) {
	o.t.Helper()
	until(o.t, query, func() bool {
		resp, err := o.tc.CountWorkflow(o.t.Context(), &workflowservice.CountWorkflowExecutionsRequest{Query: query})
		return err == nil && resp.GetCount() == n
	})
}

// TestOperatingTurnsInTemporal is what docs/how-to/temporal-ui.md says: the status of a turn's workflow, the queries, and what the buttons
// of the Temporal UI do.
func TestOperatingTurnsInTemporal(t *testing.T) {
	t.Parallel()
	up := harness.Up(t, t.TempDir(), []string{"WINDLASS_SESSIONS_LOST_AFTER=100ms", "WINDLASS_TEMPORAL_PARK_AFTER=1ms"})
	c, o := up.Client, newOperator(t, up)
	guarded(c, "careful", 0)
	c.Must("POST", "/v1/agents", harness.JSON{"id": "boss", "model": "builtin/scripted", "agents": []string{"careful"}})
	const order = "call:mesh__uuid {} then say:done"
	waiting := func() string {
		turn := c.Turn(c.Session("careful"), order)
		asked(c, turn, "approval.requested", 1)
		o.status(turn, "Running")
		return turn
	}
	approve := func(turn string) {
		ids, _ := c.Must("GET", "/v1/turns/"+turn, nil)["waiting_for"].([]any)
		c.Must("POST", "/v1/approvals/"+ids[0].(string)+":decide", harness.JSON{"decision": "approve"})
	}

	completed := c.Turn(c.Session("careful"), "say:hello")
	failed := c.Turn(c.Session("careful"), "fail:always")
	cancelled := waiting()
	c.Must("POST", "/v1/turns/"+cancelled+":cancel", harness.JSON{})
	for turn, want := range map[string]string{completed: "Completed", failed: "Failed", cancelled: "Canceled"} {
		o.status(turn, want)
	}

	still := waiting()
	o.count(`WindlassStatus = "waiting" AND ExecutionStatus = "Running"`, 1)
	o.count(`WorkflowType = "Turn" AND ExecutionStatus = "Failed"`, 1)
	o.count(`WindlassAgent = "careful" AND ExecutionStatus != "ContinuedAsNew"`, 4)

	if err := o.tc.CancelWorkflow(t.Context(), still, ""); err != nil {
		t.Fatal(err)
	}
	if end := c.Wait(still); end.Str("status") != "cancelled" {
		t.Errorf("after Cancel the turn is %v", end)
	}
	o.status(still, "Canceled")

	ended := waiting()
	if err := o.tc.TerminateWorkflow(t.Context(), ended, "", "an operator"); err != nil {
		t.Fatal(err)
	}
	approve(ended)
	if end := c.Wait(ended); end.Str("output") != "done" {
		t.Errorf("after Terminate the turn came to %v", end)
	}

	again, err := o.tc.ResetWorkflowExecution(t.Context(), o.resetOf(completed))
	if err != nil {
		t.Fatal(err)
	}
	until(t, "the workflow has run again", func() bool {
		d, err := o.tc.DescribeWorkflow(t.Context(), completed, again.GetRunId())
		return err == nil && d.Status.String() == "Completed"
	})
	if calls := c.Must("GET", "/v1/turns/"+completed, nil); calls.Str("output") != "hello" {
		t.Errorf("after Reset the turn is %v", calls)
	}
}

// resetOf resets a workflow to its first task, which is the earliest that the UI offers.
func (o operator) resetOf(turn string) *workflowservice.ResetWorkflowExecutionRequest {
	o.t.Helper()
	events := o.tc.GetWorkflowHistory(o.t.Context(), turn, "", false, enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for events.HasNext() {
		e, err := events.Next()
		if err != nil {
			o.t.Fatal(err)
		}
		if e.GetEventType() == enums.EVENT_TYPE_WORKFLOW_TASK_COMPLETED {
			return &workflowservice.ResetWorkflowExecutionRequest{
				Namespace: "default", WorkflowExecution: &common.WorkflowExecution{WorkflowId: turn}, Reason: "an operator",
				RequestId: "reset-" + turn, WorkflowTaskFinishEventId: e.GetEventId(),
			}
		}
	}
	o.t.Fatalf("the workflow of %s had no task", turn)
	return nil
}

// TestChildTurnsAreLinkedInTemporal: Temporal shows whose child a turn is, and the details of the parent link to the child.
func TestChildTurnsAreLinkedInTemporal(t *testing.T) {
	t.Parallel()
	up := harness.Up(t, t.TempDir(), nil)
	c, o := up.Client, newOperator(t, up)
	c.Must("POST", "/v1/agents", harness.JSON{"id": "clerk", "model": "builtin/scripted"})
	c.Must("POST", "/v1/agents", harness.JSON{"id": "boss", "model": "builtin/scripted", "agents": []string{"clerk"}})
	parent := c.Turn(c.Session("boss"), `call:agent__clerk {"message":"say:hello"}`)
	c.Watch("/v1/turns/" + parent + "/events").End()
	tree := c.Must("GET", "/v1/turns/"+parent+"/tree", nil)
	children, _ := tree["children"].([]any)
	of, _ := children[0].(map[string]any)["turn"].(map[string]any)
	child := harness.JSON(of).Str("id")
	o.status(parent, "Completed")
	o.status(child, "Completed")

	d, err := o.tc.DescribeWorkflow(t.Context(), child, "")
	if err != nil {
		t.Fatal(err)
	}
	if details, err := d.GetStaticDetails(); err != nil ||
		details != "[Timeline in the console]("+c.Base+"/turns/"+child+")\n\n"+
			"Child of turn ["+parent+"](/namespaces/default/workflows/"+parent+")" {
		t.Errorf("details of the child: %q, %v", details, err)
	}
	if details := o.currentDetails(parent); !strings.Contains(details, "child turn ["+child+"](/namespaces/default/workflows/"+child+")") {
		t.Errorf("details of the parent: %s", details)
	}
}

// TestATurnThatIsOverInTemporal: the workflow of a turn that was over before it has six events. Its input lists the steps in order, and so
// do its current details; one marker names them, and its status can be searched.
func TestATurnThatIsOverInTemporal(t *testing.T) {
	t.Parallel()
	up := harness.Up(t, t.TempDir(), []string{"WINDLASS_SESSIONS_START_DELAY=1h", inClear}) // workflows start when their turns are over
	c, o := up.Client, newOperator(t, up)
	c.Must("POST", "/v1/agents", harness.JSON{"id": "quick", "model": "builtin/scripted", "tools": []string{"mesh__uuid"}})
	turn := c.Turn(c.Session("quick"), "call:mesh__uuid {} then say:done")
	c.Wait(turn)
	o.status(turn, "Completed")
	o.count(`WindlassStatus = "completed" AND WindlassAgent = "quick"`, 1)

	var input contract.TurnInput
	var summaries []string
	n := 0
	for events := o.tc.GetWorkflowHistory(t.Context(), turn, "", false, enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT); events.HasNext(); n++ {
		e, err := events.Next()
		if err != nil {
			t.Fatal(err)
		}
		if began := e.GetWorkflowExecutionStartedEventAttributes(); began != nil {
			harness.Must(t, converter.GetDefaultDataConverter().FromPayloads(began.GetInput(), &input))
		}
		summaries = append(summaries, string(e.GetUserMetadata().GetSummary().GetData()))
	}
	if n != 6 || !slices.Contains(summaries, `"begin, infer #1, tool mesh__uuid, infer #2, finish"`) {
		t.Errorf("%d events with the summaries %q", n, summaries)
	}
	text := strings.Join(input.Ended.Steps, "\n")
	figures := ` \(\S+ since [\d:.]+\)\n`
	if want := regexp.MustCompile(`^1\. begin → model builtin/scripted, 1 tools, revision 1 \(\S+ since [\d:.]+, attempt 1 on wrk_\w+\)\n` +
		`2\. infer #1 → calls mesh__uuid` + figures + `3\. tool mesh__uuid → done` + figures + `4\. infer #2 → stop, \d+ tokens` + figures +
		`5\. finish → end$`); !want.MatchString(text) {
		t.Errorf("steps:\n%s", text)
	}
	if details := o.currentDetails(turn); !strings.HasSuffix(details, text) {
		t.Errorf("details: %s", details)
	}
}

// currentDetails returns what the UI shows of a turn besides its history.
func (o operator) currentDetails(turn string) string {
	o.t.Helper()
	value, err := o.tc.QueryWorkflow(o.t.Context(), turn, "", "__temporal_workflow_metadata")
	var m sdkpb.WorkflowMetadata
	if err == nil {
		err = value.Get(&m)
	}
	if err != nil {
		o.t.Errorf("details of %s: %v", turn, err)
	}
	return m.GetCurrentDetails()
}
