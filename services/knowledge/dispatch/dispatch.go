// Package dispatch has versions of documents ingested, and sources of banks synced, by Temporal: one workflow for each version and each
// sync, with its id. It is the only part of the knowledge service that calls Temporal.
package dispatch

import (
	"context"
	"errors"
	"fmt"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"github.com/windlass-dev/windlass/workflows/contract"
)

// priority is lower than that of turns, which somebody waits for: Temporal's default is 3, and a larger number comes later.
const priority = 4

// workflows is the part of Temporal's client that is used here.
type workflows interface {
	ExecuteWorkflow(ctx context.Context, options client.StartWorkflowOptions, workflow any, args ...any) (client.WorkflowRun, error)
	CancelWorkflow(ctx context.Context, workflowID, runID string) error
}

// Temporal implements ingest.Engine and syncs.Engine.
type Temporal struct{ client workflows }

// New makes a dispatcher over a client, which stays its owner's to close.
func New(c client.Client) (*Temporal, error) {
	if c == nil {
		return nil, errors.New("dispatch needs a Temporal client")
	}
	return &Temporal{client: c}, nil
}

// Start implements ingest.Engine. A workflow that runs is left alone. One that is closed is started again: it finds out what is left.
func (d *Temporal) Start(ctx context.Context, tenant, version string) error {
	return d.start(ctx, tenant, version, contract.IngestWorkflow, contract.IngestInput{Tenant: tenant, Version: version})
}

// StartSync implements syncs.Engine, as Start does for versions.
func (d *Temporal) StartSync(ctx context.Context, tenant, sync string) error {
	return d.start(ctx, tenant, sync, contract.SyncWorkflow, contract.SyncInput{Tenant: tenant, Sync: sync})
}

func (d *Temporal) start(ctx context.Context, tenant, id, workflow string, in any) error {
	_, err := d.client.ExecuteWorkflow(ctx, client.StartWorkflowOptions{
		ID: id, TaskQueue: contract.TaskQueue,
		WorkflowIDReusePolicy:    enums.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE,
		WorkflowIDConflictPolicy: enums.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING,
		Priority:                 temporal.Priority{PriorityKey: priority, FairnessKey: tenant},
		WorkflowTaskTimeout:      contract.TaskTimeout,
		TypedSearchAttributes: temporal.NewSearchAttributes(
			temporal.NewSearchAttributeKeyKeyword(contract.AttributeTenant).ValueSet(tenant),
		),
	}, workflow, in)
	if err != nil {
		return fmt.Errorf("start workflow %s: %w", id, err)
	}
	return nil
}

// Cancel implements ingest.Engine. A workflow that does not exist or is closed needs no cancel.
func (d *Temporal) Cancel(ctx context.Context, version string) error {
	err := d.client.CancelWorkflow(ctx, version, "")
	if _, gone := errors.AsType[*serviceerror.NotFound](err); err != nil && !gone {
		return fmt.Errorf("cancel workflow %s: %w", version, err)
	}
	return nil
}
