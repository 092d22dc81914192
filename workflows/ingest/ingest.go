// Package ingest has the workflows that have a version of a document ingested, and a source of a bank synced. The knowledge service does
// the work and keeps its state; the workflow repeats the call until there is an outcome, and stops it when it is cancelled.
package ingest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/windlass-dev/windlass/libs/enum"
	knowledgev1 "github.com/windlass-dev/windlass/proto/gen/windlass/knowledge/v1"
	"github.com/windlass-dev/windlass/workflows/contract"
)

// typeForeign is the type of the error of workflows that the mesh did not ask for.
const typeForeign = "foreign_workflow"

const (
	// heartbeatTimeout is how long a lost worker goes unnoticed, and how long a cancel may take to arrive.
	heartbeatTimeout  = 5 * time.Second
	heartbeatInterval = time.Second
	// attemptTimeout bounds one call of the knowledge service, with the time that it waits for other ingestions.
	attemptTimeout = time.Hour
	// syncTimeout does so for a sync, which reads a whole site.
	syncTimeout = 24 * time.Hour
)

// Ingest is the workflow. It tries until the knowledge service has an outcome: that service gives up a version, not this workflow.
func Ingest(ctx workflow.Context, in contract.IngestInput) (contract.IngestResult, error) {
	var act *Activities // typed nil: only the method's name is used
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		StartToCloseTimeout: attemptTimeout, HeartbeatTimeout: heartbeatTimeout, Summary: in.Version,
		RetryPolicy: &temporal.RetryPolicy{InitialInterval: 500 * time.Millisecond, BackoffCoefficient: 2, MaximumInterval: 30 * time.Second},
	})
	var out contract.IngestResult
	err := workflow.ExecuteActivity(ctx, act.IngestVersion, in).Get(ctx, &out)
	return out, err
}

// Sync is the workflow of a sync, which does the same with it.
func Sync(ctx workflow.Context, in contract.SyncInput) (contract.SyncResult, error) {
	var act *Activities // typed nil: only the method's name is used
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		StartToCloseTimeout: syncTimeout, HeartbeatTimeout: heartbeatTimeout, Summary: in.Sync,
		RetryPolicy: &temporal.RetryPolicy{InitialInterval: 500 * time.Millisecond, BackoffCoefficient: 2, MaximumInterval: 30 * time.Second},
	})
	var out contract.SyncResult
	err := workflow.ExecuteActivity(ctx, act.RunSync, in).Get(ctx, &out)
	return out, err
}

// Activities do what the workflow may not.
type Activities struct {
	knowledge knowledgev1.IngestionServiceClient
	drain     time.Duration
}

// IngestVersion has the knowledge service ingest a version, unless the workflow is not that of the version. It sends heartbeats, so that a
// lost worker is detected and a cancel is delivered. When the worker stops, the call ends after the drain time, and another worker
// repeats it.
func (a *Activities) IngestVersion(ctx context.Context, in contract.IngestInput) (contract.IngestResult, error) {
	if id := activity.GetInfo(ctx).WorkflowExecution.ID; id != in.Version {
		return contract.IngestResult{}, temporal.NewNonRetryableApplicationError(
			"workflow "+id+" is not of version "+in.Version, typeForeign, nil)
	}
	ctx, done := a.withHeartbeats(ctx)
	defer done()
	resp, err := a.knowledge.IngestVersion(ctx, &knowledgev1.IngestVersionRequest{Tenant: in.Tenant, Version: in.Version})
	if err != nil {
		return contract.IngestResult{}, fmt.Errorf("ingest version %s: %w", in.Version, errors.Join(err, context.Cause(ctx)))
	}
	return contract.IngestResult{Outcome: enum.Name(resp.GetOutcome())}, nil
}

// RunSync has the knowledge service run a sync, as IngestVersion does with a version.
func (a *Activities) RunSync(ctx context.Context, in contract.SyncInput) (contract.SyncResult, error) {
	if id := activity.GetInfo(ctx).WorkflowExecution.ID; id != in.Sync {
		return contract.SyncResult{}, temporal.NewNonRetryableApplicationError("workflow "+id+" is not of sync "+in.Sync, typeForeign, nil)
	}
	ctx, done := a.withHeartbeats(ctx)
	defer done()
	resp, err := a.knowledge.RunSync(ctx, &knowledgev1.RunSyncRequest{Tenant: in.Tenant, Sync: in.Sync})
	if err != nil {
		return contract.SyncResult{}, fmt.Errorf("run sync %s: %w", in.Sync, errors.Join(err, context.Cause(ctx)))
	}
	return contract.SyncResult{Outcome: enum.Name(resp.GetOutcome())}, nil
}

// errDrained ends a call that still runs after the drain time.
var errDrained = errors.New("worker stops")

// withHeartbeats sends heartbeats until the returned function is called.
func (a *Activities) withHeartbeats(activityCtx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(activityCtx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(heartbeatInterval)
		defer tick.Stop()
		stopping := activity.GetWorkerStopChannel(activityCtx)
		var drained <-chan time.Time
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				activity.RecordHeartbeat(activityCtx)
			case <-stopping:
				stopping, drained = nil, time.After(a.drain)
			case <-drained:
				cancel(errDrained)
			}
		}
	}()
	return ctx, func() {
		cancel(nil)
		<-done
	}
}

// Register adds workflow and activity to a worker of the task queue contract.TaskQueue. drain is how long a call may continue when the
// worker stops.
func Register(w worker.Registry, knowledge knowledgev1.IngestionServiceClient, drain time.Duration) error {
	if w == nil || knowledge == nil {
		return errors.New("ingest: a worker and a client of knowledge are required")
	}
	w.RegisterWorkflowWithOptions(Ingest, workflow.RegisterOptions{Name: contract.IngestWorkflow})
	w.RegisterWorkflowWithOptions(Sync, workflow.RegisterOptions{Name: contract.SyncWorkflow})
	w.RegisterActivity(&Activities{knowledge: knowledge, drain: drain})
	return nil
}
