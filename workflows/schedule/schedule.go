// Package schedule is what Temporal's schedules start: a workflow that notifies the sessions service that it is time. What then happens is
// decided there, from the rows.
package schedule

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/windlass-dev/windlass/libs/enum"
	"github.com/windlass-dev/windlass/libs/timestamp"
	executionv1 "github.com/windlass-dev/windlass/proto/gen/windlass/execution/v1"
	"github.com/windlass-dev/windlass/workflows/contract"
)

// typeForeign is the type of the error of workflows that the mesh did not ask for.
const typeForeign = "foreign_workflow"

// attemptTimeout bounds one call of the sessions service.
const attemptTimeout = 30 * time.Second

// Fire is the workflow. It tries until the sessions service answers, or until the schedule's time to catch up is over, which is the
// timeout that it is started with.
func Fire(ctx workflow.Context, in contract.ScheduleInput) (contract.ScheduleResult, error) {
	var act *Activities // typed nil: only the method's name is used
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		StartToCloseTimeout: attemptTimeout, Summary: in.ScheduleID,
		RetryPolicy: &temporal.RetryPolicy{InitialInterval: 500 * time.Millisecond, BackoffCoefficient: 2, MaximumInterval: 5 * time.Second},
	})
	var out contract.ScheduleResult
	err := workflow.ExecuteActivity(ctx, act.FireSchedule, in, due(ctx).UnixMicro()).Get(ctx, &out)
	return out, err
}

// due is the time that the schedule named; for a workflow that was started by hand, when that was.
func due(ctx workflow.Context) time.Time {
	named := temporal.NewSearchAttributeKeyTime("TemporalScheduledStartTime")
	if at, ok := workflow.GetTypedSearchAttributes(ctx).GetTime(named); ok {
		return at
	}
	return workflow.GetInfo(ctx).WorkflowStartTime.Truncate(time.Second)
}

// Activities do what the workflow may not.
type Activities struct {
	sessions executionv1.ExecutionServiceClient
}

// FireSchedule notifies the sessions service that a schedule is due, unless Temporal's schedule of the same name did not start the
// workflow: its workflows have its id and the time as theirs.
func (a *Activities) FireSchedule(ctx context.Context, in contract.ScheduleInput, dueMicros int64) (contract.ScheduleResult, error) {
	id := activity.GetInfo(ctx).WorkflowExecution.ID
	if !strings.HasPrefix(id, contract.ScheduleID(in.Tenant, in.ScheduleID)+"-") {
		return contract.ScheduleResult{}, temporal.NewNonRetryableApplicationError(
			"workflow "+id+" is not of schedule "+in.ScheduleID, typeForeign, nil)
	}
	resp, err := a.sessions.FireSchedule(ctx, &executionv1.FireScheduleRequest{
		Tenant: in.Tenant, ScheduleId: in.ScheduleID, DueTime: timestamp.OfMicros(dueMicros),
	})
	if err != nil {
		return contract.ScheduleResult{}, fmt.Errorf("fire schedule %s: %w", in.ScheduleID, err)
	}
	return contract.ScheduleResult{Outcome: enum.Name(resp.GetOutcome()), TurnID: resp.GetTurnId()}, nil
}

// Register adds workflow and activity to a worker of the task queue contract.TaskQueue.
func Register(w worker.Registry, sessions executionv1.ExecutionServiceClient) error {
	if w == nil || sessions == nil {
		return errors.New("schedule: a worker and a client of sessions are required")
	}
	w.RegisterWorkflowWithOptions(Fire, workflow.RegisterOptions{Name: contract.ScheduleWorkflow})
	w.RegisterActivity(&Activities{sessions: sessions})
	return nil
}
