package dispatch

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"go.temporal.io/api/common/v1"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/taskqueue/v1"
	"go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
	"google.golang.org/grpc"

	"github.com/windlass-dev/windlass/libs/testwant"
	"github.com/windlass-dev/windlass/services/sessions/outbox"
	"github.com/windlass-dev/windlass/workflows/contract"
)

// engine is a Temporal client that remembers and answers what it is told.
type engine struct {
	err     error
	status  enums.WorkflowExecutionStatus
	options client.StartWorkflowOptions
	args    []any
	signal  any
	runs    []string
	pollers []*taskqueue.PollerInfo
}

func (e *engine) DescribeTaskQueue(context.Context, string, enums.TaskQueueType) (*workflowservice.DescribeTaskQueueResponse, error) {
	return &workflowservice.DescribeTaskQueueResponse{Pollers: e.pollers}, e.err
}

func (e *engine) ExecuteWorkflow(_ context.Context, o client.StartWorkflowOptions, w any, args ...any) (client.WorkflowRun, error) {
	e.options, e.args = o, append([]any{w}, args...)
	return nil, e.err
}

func (e *engine) SignalWithStartWorkflow(
	_ context.Context, id, name string, arg any, o client.StartWorkflowOptions, w any, args ...any,
) (client.WorkflowRun, error) {
	e.options, e.args, e.signal = o, append([]any{id, name, w}, args...), arg
	return nil, e.err
}

func (e *engine) SignalWorkflow(_ context.Context, id, _, name string, arg any) error {
	e.args, e.signal = []any{id, name}, arg
	return e.err
}

func (e *engine) DescribeWorkflow(context.Context, string, string) (*client.WorkflowExecutionDescription, error) {
	d := &client.WorkflowExecutionDescription{}
	d.Status = e.status
	return d, e.err
}

func (e *engine) ListWorkflow(context.Context,
	*workflowservice.ListWorkflowExecutionsRequest,
) (*workflowservice.ListWorkflowExecutionsResponse, error) {
	out := &workflowservice.ListWorkflowExecutionsResponse{}
	for _, run := range e.runs {
		out.Executions = append(out.Executions, &workflow.WorkflowExecutionInfo{Execution: &common.WorkflowExecution{
			WorkflowId: "trn_1",
			RunId:      run,
		}})
	}
	return out, nil
}

func (e *engine) WorkflowService() workflowservice.WorkflowServiceClient { return deleter{engine: e} }

// deleter deletes runs of workflows.
type deleter struct {
	workflowservice.WorkflowServiceClient
	engine *engine
}

func (d deleter) DeleteWorkflowExecution(
	_ context.Context, in *workflowservice.DeleteWorkflowExecutionRequest, _ ...grpc.CallOption,
) (*workflowservice.DeleteWorkflowExecutionResponse, error) {
	d.engine.args = append(d.engine.args, in.GetNamespace()+"/"+in.GetWorkflowExecution().GetWorkflowId()+"/"+
		in.GetWorkflowExecution().GetRunId())
	return nil, d.engine.err
}

func TestForget(t *testing.T) {
	e := &engine{runs: []string{"r1", "r2"}}
	d := &Temporal{client: e, cfg: Config{Namespace: "ns"}}
	if err := d.Forget(t.Context(), "trn_1"); err != nil {
		t.Fatal(err)
	}
	if want := []any{"ns/trn_1/", "ns/trn_1/r1", "ns/trn_1/r2"}; !slices.Equal(e.args, want) {
		t.Errorf("deleted %v, want %v", e.args, want)
	}
	e.err = serviceerror.NewNotFound("gone")
	if err := d.Forget(t.Context(), "trn_1"); err != nil {
		t.Errorf("what is gone: %v", err)
	}
	e.err = errors.New("down")
	if err := d.Forget(t.Context(), "trn_1"); err == nil {
		t.Error("a server that is away deletes nothing")
	}
}

var start = outbox.Turn{Tenant: "default", TurnID: "trn_1", SessionID: "ses_1", AgentID: "a", ParentTurnID: "trn_0"}

var started = contract.TurnInput{
	Tenant: "default", TurnID: "trn_1", SessionID: "ses_1", AgentID: "a", ParkAfter: contract.Duration(time.Minute),
	ParentTurnID: "trn_0",
}

// TestWake: a call that wakes a turn can start it as well, so that a parked one begins its next run.
func TestWake(t *testing.T) {
	e := &engine{}
	d := &Temporal{client: e, cfg: Config{Eager: true, ParkAfter: time.Minute, Namespace: "default"}}
	if err := news(t.Context(), d, true); err != nil {
		t.Fatal(err)
	}
	if want := []any{"trn_1", contract.SignalWake, contract.TurnWorkflow, started}; !slices.Equal(e.args, want) || e.signal != nil {
		t.Errorf("called with %v, %v", e.args, e.signal)
	}
	o := e.options
	testwant.Equal(t, "options: ID", o.ID, "trn_1")
	testwant.Equal(t, "options: TaskQueue", o.TaskQueue, contract.TaskQueue)
	testwant.Equal(t, "options: EnableEagerStart", o.EnableEagerStart, false)
	testwant.Equal(t, "options: StaticSummary", o.StaticSummary, "agent a, session ses_1")
	testwant.Equal(t, "options: StaticDetails", o.StaticDetails, "Child of turn [trn_0](/namespaces/default/workflows/trn_0)")
	testwant.Equal(t, "options: WorkflowIDReusePolicy", o.WorkflowIDReusePolicy, enums.WORKFLOW_ID_REUSE_POLICY_REJECT_DUPLICATE)
}

func TestStart(t *testing.T) {
	e := &engine{}
	d := &Temporal{client: e, cfg: Config{Eager: true, ParkAfter: time.Minute, Namespace: "default"}}
	if err := d.Start(t.Context(), start); err != nil {
		t.Fatal(err)
	}
	o := e.options
	testwant.Equal(t, "options: ID", o.ID, "trn_1")
	testwant.Equal(t, "options: TaskQueue", o.TaskQueue, contract.TaskQueue)
	testwant.Equal(t, "options: EnableEagerStart", o.EnableEagerStart, true)
	testwant.Equal(t, "options: StaticSummary", o.StaticSummary, "agent a, session ses_1")
	testwant.Equal(t, "options: StaticDetails", o.StaticDetails, "Child of turn [trn_0](/namespaces/default/workflows/trn_0)")
	testwant.Equal(t, "options: WorkflowIDReusePolicy", o.WorkflowIDReusePolicy, enums.WORKFLOW_ID_REUSE_POLICY_REJECT_DUPLICATE)
	testwant.Equal(t, "options: WorkflowIDConflictPolicy", o.WorkflowIDConflictPolicy, enums.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING)
	if v, ok := o.TypedSearchAttributes.GetKeyword(temporal.NewSearchAttributeKeyKeyword(contract.AttributeSession)); !ok || v != "ses_1" {
		t.Errorf("session attribute %q", v)
	}
	if e.args[0] != contract.TurnWorkflow || e.args[1] != started {
		t.Errorf("arguments %v", e.args)
	}
	over := start
	over.Ended = &contract.Ended{TurnResult: contract.TurnResult{Status: contract.StatusFailed}}
	if err := d.Start(t.Context(), over); err != nil || e.args[1].(contract.TurnInput).Ended != over.Ended {
		t.Errorf("a turn that is over: %v, %v", e.args, err)
	}
	if v, _ := e.options.TypedSearchAttributes.GetKeyword(temporal.NewSearchAttributeKeyKeyword(contract.AttributeStatus)); v != "failed" {
		t.Errorf("status attribute of a turn that is over: %q", v)
	}
	again := start
	again.Again = true
	if err := d.Start(t.Context(), again); err != nil || e.options.WorkflowIDReusePolicy != enums.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE {
		t.Errorf("again: %v, %v", e.options.WorkflowIDReusePolicy, err)
	}
}

func TestAnswersOfTheServer(t *testing.T) {
	there := serviceerror.NewWorkflowExecutionAlreadyStarted("there", "", "")
	gone := serviceerror.NewNotFound("gone")
	down := errors.New("down")
	for _, row := range []struct {
		name   string
		err    error
		call   func(d *Temporal) error
		failed bool
	}{
		{"a start of what is there", there, func(d *Temporal) error { return d.Start(t.Context(), start) }, false},
		{"a start while the server is down", down, func(d *Temporal) error { return d.Start(t.Context(), start) }, true},
		{"a cancel", nil, func(d *Temporal) error { return d.Cancel(t.Context(), "trn_1") }, false},
		{"a cancel of what is gone", gone, func(d *Temporal) error { return d.Cancel(t.Context(), "trn_1") }, false},
		{"a cancel while the server is down", down, func(d *Temporal) error { return d.Cancel(t.Context(), "trn_1") }, true},
		{"news for what is over", there, func(d *Temporal) error { return news(t.Context(), d, false) }, false},
		{"news", nil, func(d *Temporal) error { return news(t.Context(), d, true) }, false},
		{"news while the server is down", down, func(d *Temporal) error { return news(t.Context(), d, false) }, true},
		{"a question while the server is down", down, func(d *Temporal) error { _, err := d.State(t.Context(), "trn_1"); return err }, true},
	} {
		t.Run(row.name, func(t *testing.T) {
			e := &engine{err: row.err}
			if err := row.call(&Temporal{client: e}); (err != nil) != row.failed {
				t.Errorf("error %v, want one: %v", err, row.failed)
			}
		})
	}
}

// news wakes a workflow and checks whether it was there.
func news(ctx context.Context, d *Temporal, want bool) error {
	there, err := d.Wake(ctx, start)
	if err == nil && there != want {
		return fmt.Errorf("there is %v, want %v", there, want)
	}
	return err
}

func TestState(t *testing.T) {
	for _, row := range []struct {
		name   string
		engine engine
		want   outbox.WorkflowState
	}{
		{"running", engine{status: enums.WORKFLOW_EXECUTION_STATUS_RUNNING}, outbox.WorkflowOpen},
		{"completed", engine{status: enums.WORKFLOW_EXECUTION_STATUS_COMPLETED}, outbox.WorkflowClosed},
		{"terminated", engine{status: enums.WORKFLOW_EXECUTION_STATUS_TERMINATED}, outbox.WorkflowClosed},
		{"missing", engine{err: serviceerror.NewNotFound("gone")}, outbox.WorkflowMissing},
	} {
		if got, err := (&Temporal{client: &row.engine}).State(t.Context(), "trn_1"); err != nil || got != row.want {
			t.Errorf("%s: %v, %v", row.name, got, err)
		}
	}
	if _, err := New(nil, Config{}); err == nil {
		t.Error("a dispatcher without a client was made")
	}
	for given, want := range map[time.Duration]time.Duration{
		0: 30 * time.Second, time.Microsecond: time.Millisecond, time.Hour: time.Hour,
	} {
		d, err := New(unused(t), Config{ParkAfter: given})
		if err != nil {
			t.Fatal(err)
		}
		if in := d.input(start); time.Duration(in.ParkAfter) != want {
			t.Errorf("parked after %v with %v, want %v", time.Duration(in.ParkAfter), given, want)
		}
	}
	if _, err := New(unused(t), Config{ParkAfter: -1}); err == nil {
		t.Error("a dispatcher that parks before it waits was made")
	}
}

// unused is a client that nothing is asked of.
func unused(t *testing.T) client.Client {
	c, err := client.NewLazyClient(client.Options{HostPort: "127.0.0.1:1"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}
