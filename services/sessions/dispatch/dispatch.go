// Package dispatch has turns run by Temporal: one workflow for each turn, with the turn's id; and keeps Temporal's schedules. It
// is the only part of the sessions service that calls Temporal.
package dispatch

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"go.temporal.io/api/common/v1"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"github.com/windlass-dev/windlass/services/sessions/outbox"
	"github.com/windlass-dev/windlass/workflows/contract"
)

// workflows is the part of Temporal's client that is used here.
type workflows interface {
	ExecuteWorkflow(ctx context.Context, options client.StartWorkflowOptions, workflow any, args ...any) (client.WorkflowRun, error)
	SignalWithStartWorkflow(
		ctx context.Context, workflowID, signalName string, signalArg any, options client.StartWorkflowOptions, workflow any, args ...any,
	) (client.WorkflowRun, error)
	SignalWorkflow(ctx context.Context, workflowID, runID, signalName string, arg any) error
	DescribeWorkflow(ctx context.Context, workflowID, runID string) (*client.WorkflowExecutionDescription, error)
	ListWorkflow(ctx context.Context, request *workflowservice.ListWorkflowExecutionsRequest) (*workflowservice.ListWorkflowExecutionsResponse,
		error)
	DescribeTaskQueue(ctx context.Context, taskqueue string, kind enums.TaskQueueType) (*workflowservice.DescribeTaskQueueResponse, error)
	WorkflowService() workflowservice.WorkflowServiceClient
}

// Config says how turns are started.
type Config struct {
	// Eager hands the first workflow task to a worker of this process without going through the server's queue. It works only where
	// that worker was made with the same client object.
	Eager bool
	// ParkAfter is how long the workflow of a turn that waits stays with its worker; default contract.ParkAfter.
	ParkAfter time.Duration
	// Namespace is the client's.
	Namespace string
	// Refused reports whether an error means that what is stored in Temporal is refused, since it is not encrypted. Nil means never.
	Refused func(error) bool
	// Console is the URL of the console, to which each workflow links, "" for no links.
	Console string
}

// Temporal implements sessions.Dispatcher.
type Temporal struct {
	client    workflows
	schedules client.ScheduleClient
	cfg       Config
	polls     polls
	now       func() time.Time
}

// New makes a dispatcher over a client, which stays its owner's to close.
func New(c client.Client, cfg Config) (*Temporal, error) {
	if c == nil {
		return nil, errors.New("dispatch needs a Temporal client")
	}
	if cfg.ParkAfter < 0 {
		return nil, errors.New("temporal.park_after must not be negative: leave it out for the default, or set it to 1ms to park at once")
	}
	if cfg.ParkAfter == 0 {
		cfg.ParkAfter = contract.ParkAfter
	}
	return &Temporal{client: c, schedules: c.ScheduleClient(), cfg: cfg, now: time.Now}, nil
}

// Start implements sessions.Dispatcher.
func (d *Temporal) Start(ctx context.Context, start outbox.Turn) error {
	options := d.options(start)
	options.EnableEagerStart = d.cfg.Eager
	_, err := d.client.ExecuteWorkflow(ctx, options, contract.TurnWorkflow, d.input(start))
	if over(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("start workflow %s: %w", start.TurnID, err)
	}
	return nil
}

// over reports whether a workflow was not started because one is closed already.
func over(err error) bool {
	_, there := errors.AsType[*serviceerror.WorkflowExecutionAlreadyStarted](err)
	return there
}

// options returns the options with which a turn's workflow is started, by Start or by Wake.
func (d *Temporal) options(start outbox.Turn) client.StartWorkflowOptions {
	status, reuse := contract.StatusRunning, enums.WORKFLOW_ID_REUSE_POLICY_REJECT_DUPLICATE
	if start.Ended != nil {
		status = start.Ended.Status
	}
	if start.Again {
		reuse = enums.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE
	}
	return client.StartWorkflowOptions{
		ID: start.TurnID, TaskQueue: contract.TaskQueue,
		WorkflowIDReusePolicy: reuse, WorkflowIDConflictPolicy: enums.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING,
		// Activities inherit it: a tenant with many turns does not delay those of others.
		Priority:            temporal.Priority{FairnessKey: start.Tenant},
		WorkflowTaskTimeout: contract.TaskTimeout, StaticSummary: fmt.Sprintf("agent %s, session %s", start.AgentID, start.SessionID),
		StaticDetails: d.details(start),
		TypedSearchAttributes: temporal.NewSearchAttributes(
			temporal.NewSearchAttributeKeyKeyword(contract.AttributeAgent).ValueSet(start.AgentID),
			temporal.NewSearchAttributeKeyKeyword(contract.AttributeSession).ValueSet(start.SessionID),
			temporal.NewSearchAttributeKeyKeyword(contract.AttributeTenant).ValueSet(start.Tenant),
			temporal.NewSearchAttributeKeyKeyword(contract.AttributeStatus).ValueSet(status),
		),
	}
}

// details is shown as Markdown.
func (d *Temporal) details(start outbox.Turn) string {
	var parts []string
	if d.cfg.Console != "" {
		parts = append(parts, fmt.Sprintf("[Timeline in the console](%s/turns/%s)", strings.TrimSuffix(d.cfg.Console, "/"), start.TurnID))
	}
	if start.ParentTurnID != "" {
		parts = append(parts, "Child of turn "+contract.WorkflowLink(d.cfg.Namespace, start.ParentTurnID))
	}
	return strings.Join(parts, "\n\n")
}

func (d *Temporal) input(start outbox.Turn) contract.TurnInput {
	in := contract.TurnInput{
		Tenant: start.Tenant, TurnID: start.TurnID, SessionID: start.SessionID, AgentID: start.AgentID,
		ParentTurnID: start.ParentTurnID, Ended: start.Ended,
	}
	if in.Ended == nil {
		in.ParkAfter = contract.Duration(max(d.cfg.ParkAfter, time.Millisecond))
	}
	return in
}

// Cancel implements sessions.Dispatcher. A workflow that is not there or over needs no cancellation. One that is parked does not receive
// it before it is woken, which it is: the cancel of a turn that waits ends its waits.
func (d *Temporal) Cancel(ctx context.Context, turnID string) error {
	err := d.client.SignalWorkflow(ctx, turnID, "", contract.SignalCancel, nil)
	if _, gone := errors.AsType[*serviceerror.NotFound](err); err != nil && !gone {
		return fmt.Errorf("cancel workflow %s: %w", turnID, err)
	}
	return nil
}

// Wake implements sessions.Dispatcher. A plain signal would not wake a workflow that is parked. One that was never started is
// started: the outbox finds it there. One that is closed is not started again.
func (d *Temporal) Wake(ctx context.Context, start outbox.Turn) (bool, error) {
	_, err := d.client.SignalWithStartWorkflow(ctx, start.TurnID, contract.SignalWake, nil, d.options(start), contract.TurnWorkflow,
		d.input(start))
	if over(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("wake workflow %s: %w", start.TurnID, err)
	}
	return true, nil
}

// State implements sessions.Dispatcher.
func (d *Temporal) State(ctx context.Context, turnID string) (outbox.WorkflowState, error) {
	desc, err := d.client.DescribeWorkflow(ctx, turnID, "")
	if _, missing := errors.AsType[*serviceerror.NotFound](err); missing {
		return outbox.WorkflowMissing, nil
	}
	if err != nil {
		return 0, fmt.Errorf("describe workflow %s: %w", turnID, err)
	}
	switch desc.Status {
	case enums.WORKFLOW_EXECUTION_STATUS_RUNNING, enums.WORKFLOW_EXECUTION_STATUS_CONTINUED_AS_NEW, enums.WORKFLOW_EXECUTION_STATUS_PAUSED:
		return outbox.WorkflowOpen, nil
	}
	return outbox.WorkflowClosed, nil
}

// Forget implements sessions.Dispatcher. A workflow that was parked has several runs, each with a history of its own; all are
// listed by its id, and the latest may not be listed yet.
func (d *Temporal) Forget(ctx context.Context, turnID string) error {
	runs := []string{""}
	listed, err := d.client.ListWorkflow(ctx, &workflowservice.ListWorkflowExecutionsRequest{
		Namespace: d.cfg.Namespace, Query: "WorkflowId = '" + turnID + "'",
	})
	if err != nil {
		return fmt.Errorf("list runs of workflow %s: %w", turnID, err)
	}
	for _, run := range listed.GetExecutions() {
		runs = append(runs, run.GetExecution().GetRunId())
	}
	for _, run := range runs {
		_, err := d.client.WorkflowService().DeleteWorkflowExecution(ctx, &workflowservice.DeleteWorkflowExecutionRequest{
			Namespace: d.cfg.Namespace, WorkflowExecution: &common.WorkflowExecution{WorkflowId: turnID, RunId: run},
		})
		if _, gone := errors.AsType[*serviceerror.NotFound](err); err != nil && !gone {
			return fmt.Errorf("delete workflow %s: %w", turnID, err)
		}
	}
	return nil
}
