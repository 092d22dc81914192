package sessions

import (
	"context"

	"github.com/windlass-dev/windlass/services/sessions/outbox"
	"github.com/windlass-dev/windlass/services/sessions/schedule"
)

// WorkflowState is what became of a turn's workflow.
type WorkflowState int

const (
	// WorkflowOpen means that it runs.
	WorkflowOpen WorkflowState = iota + 1
	// WorkflowClosed means that it has ended, in whatever way.
	WorkflowClosed
	// WorkflowMissing means that there is none.
	WorkflowMissing
)

// Dispatcher has turns run by a workflow engine. Implementations are safe for concurrent use.
type Dispatcher interface {
	outbox.Engine
	// State asks what became of a turn's workflow. An error says that nobody can tell now.
	State(ctx context.Context, turnID string) (WorkflowState, error)
	// Forget deletes a turn's workflow with its history. It succeeds when there is none.
	Forget(ctx context.Context, turnID string) error
	schedule.Calendars
}
