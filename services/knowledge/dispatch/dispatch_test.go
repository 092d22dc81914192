package dispatch

import (
	"context"
	"errors"
	"testing"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"github.com/windlass-dev/windlass/libs/testwant"
	"github.com/windlass-dev/windlass/workflows/contract"
)

// engine is a Temporal client that records its calls.
type engine struct {
	err       error
	options   client.StartWorkflowOptions
	args      []any
	cancelled string
}

func (e *engine) ExecuteWorkflow(_ context.Context, o client.StartWorkflowOptions, w any, args ...any) (client.WorkflowRun, error) {
	e.options, e.args = o, append([]any{w}, args...)
	return nil, e.err
}

func (e *engine) CancelWorkflow(_ context.Context, id, _ string) error {
	e.cancelled = id
	return e.err
}

func TestStart(t *testing.T) {
	e := &engine{}
	if err := (&Temporal{client: e}).Start(t.Context(), "acme", "ver_1"); err != nil {
		t.Fatal(err)
	}
	o := e.options
	testwant.Equal(t, "ID", o.ID, "ver_1")
	testwant.Equal(t, "TaskQueue", o.TaskQueue, contract.TaskQueue)
	testwant.Equal(t, "WorkflowIDReusePolicy", o.WorkflowIDReusePolicy, enums.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE)
	testwant.Equal(t, "WorkflowIDConflictPolicy", o.WorkflowIDConflictPolicy, enums.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING)
	testwant.Equal(t, "FairnessKey", o.Priority.FairnessKey, "acme")
	if v, _ := o.TypedSearchAttributes.GetKeyword(temporal.NewSearchAttributeKeyKeyword(contract.AttributeTenant)); v != "acme" {
		t.Errorf("tenant attribute %q", v)
	}
	if e.args[0] != contract.IngestWorkflow || e.args[1] != (contract.IngestInput{Tenant: "acme", Version: "ver_1"}) {
		t.Errorf("arguments %v", e.args)
	}
}

func TestStartSync(t *testing.T) {
	e := &engine{}
	if err := (&Temporal{client: e}).StartSync(t.Context(), "acme", "syn_1"); err != nil {
		t.Fatal(err)
	}
	testwant.Equal(t, "ID", e.options.ID, "syn_1")
	if e.args[0] != contract.SyncWorkflow || e.args[1] != (contract.SyncInput{Tenant: "acme", Sync: "syn_1"}) {
		t.Errorf("arguments %v", e.args)
	}
}

func TestErrors(t *testing.T) {
	if _, err := New(nil); err == nil {
		t.Error("a dispatcher without a client was made")
	}
	away := &Temporal{client: &engine{err: errors.New("away")}}
	if err := away.Start(t.Context(), "acme", "ver_1"); err == nil {
		t.Error("a start without a server succeeded")
	}
	if err := away.Cancel(t.Context(), "ver_1"); err == nil {
		t.Error("a cancel without a server succeeded")
	}
	gone := &engine{err: serviceerror.NewNotFound("gone")}
	if err := (&Temporal{client: gone}).Cancel(t.Context(), "ver_1"); err != nil || gone.cancelled != "ver_1" {
		t.Errorf("cancel of a closed workflow: %v", err)
	}
}
