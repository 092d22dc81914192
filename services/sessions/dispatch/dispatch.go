// Package dispatch has turns run by Temporal: one workflow for each turn, with the turn's id; and keeps Temporal's schedules. It is the only part of the sessions service that
// knows Temporal.
package dispatch

import (
	"context"
	"errors"
	"fmt"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"github.com/windlass-dev/windlass/services/sessions"
	"github.com/windlass-dev/windlass/workflows/contract"
)

// workflows is the part of Temporal's client that is used here.
type workflows interface {
	ExecuteWorkflow(ctx context.Context, options client.StartWorkflowOptions, workflow any, args ...any) (client.WorkflowRun, error)
	SignalWorkflow(ctx context.Context, workflowID, runID, signalName string, arg any) error
	DescribeWorkflow(ctx context.Context, workflowID, runID string) (*client.WorkflowExecutionDescription, error)
}

// Config says how turns are started.
type Config struct {
	// Eager hands the first workflow task to a worker of this process without going through the server's queue. It works only where
	// that worker was made with the same client object.
	Eager bool
}

// Temporal implements sessions.Dispatcher.
type Temporal struct {
	client    workflows
	schedules client.ScheduleClient
	cfg       Config
}

// New makes a dispatcher over a client, which stays its owner's to close.
func New(c client.Client, cfg Config) (*Temporal, error) {
	if c == nil {
		return nil, errors.New("dispatch needs a Temporal client")
	}
	return &Temporal{client: c, schedules: c.ScheduleClient(), cfg: cfg}, nil
}

// Start implements sessions.Dispatcher.
func (d *Temporal) Start(ctx context.Context, start sessions.TurnStart) error {
	reuse := enums.WORKFLOW_ID_REUSE_POLICY_REJECT_DUPLICATE
	if start.Again {
		reuse = enums.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE
	}
	_, err := d.client.ExecuteWorkflow(ctx, client.StartWorkflowOptions{
		ID: start.TurnID, TaskQueue: contract.TaskQueue,
		WorkflowIDReusePolicy: reuse, WorkflowIDConflictPolicy: enums.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING,
		WorkflowTaskTimeout: contract.TaskTimeout, EnableEagerStart: d.cfg.Eager, StaticSummary: start.Summary,
		TypedSearchAttributes: temporal.NewSearchAttributes(
			temporal.NewSearchAttributeKeyKeyword(contract.AttributeAgent).ValueSet(start.AgentID),
			temporal.NewSearchAttributeKeyKeyword(contract.AttributeSession).ValueSet(start.SessionID),
			temporal.NewSearchAttributeKeyKeyword(contract.AttributeTenant).ValueSet(start.Tenant),
			temporal.NewSearchAttributeKeyKeyword(contract.AttributeStatus).ValueSet(contract.StatusRunning),
		),
	}, contract.TurnWorkflow, contract.TurnInput{
		Tenant: start.Tenant, TurnID: start.TurnID, SessionID: start.SessionID, AgentID: start.AgentID,
	})
	if _, there := errors.AsType[*serviceerror.WorkflowExecutionAlreadyStarted](err); err != nil && !there {
		return fmt.Errorf("start workflow %s: %w", start.TurnID, err)
	}
	return nil
}

// Cancel implements sessions.Dispatcher. A workflow that is not there or over needs no telling.
func (d *Temporal) Cancel(ctx context.Context, turnID, reason string) error {
	err := d.client.SignalWorkflow(ctx, turnID, "", contract.SignalCancel, contract.Cancel{Reason: reason})
	if _, gone := errors.AsType[*serviceerror.NotFound](err); err != nil && !gone {
		return fmt.Errorf("cancel workflow %s: %w", turnID, err)
	}
	return nil
}

// Wake implements sessions.Dispatcher.
func (d *Temporal) Wake(ctx context.Context, turnID string) (bool, error) {
	err := d.client.SignalWorkflow(ctx, turnID, "", contract.SignalWake, nil)
	if _, gone := errors.AsType[*serviceerror.NotFound](err); gone {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("wake workflow %s: %w", turnID, err)
	}
	return true, nil
}

// State implements sessions.Dispatcher.
func (d *Temporal) State(ctx context.Context, turnID string) (sessions.WorkflowState, error) {
	desc, err := d.client.DescribeWorkflow(ctx, turnID, "")
	if _, missing := errors.AsType[*serviceerror.NotFound](err); missing {
		return sessions.WorkflowMissing, nil
	}
	if err != nil {
		return 0, fmt.Errorf("describe workflow %s: %w", turnID, err)
	}
	switch desc.Status {
	case enums.WORKFLOW_EXECUTION_STATUS_RUNNING, enums.WORKFLOW_EXECUTION_STATUS_CONTINUED_AS_NEW, enums.WORKFLOW_EXECUTION_STATUS_PAUSED:
		return sessions.WorkflowOpen, nil
	}
	return sessions.WorkflowClosed, nil
}
