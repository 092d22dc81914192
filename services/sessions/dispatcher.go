package sessions

import (
	"context"

	"github.com/windlass-dev/windlass/services/sessions/schedule"
)

// TurnStart names a turn whose workflow is to run: references only.
type TurnStart struct {
	// Tenant, TurnID, SessionID and AgentID are the workflow's input; the turn's id is also the workflow's.
	Tenant, TurnID, SessionID, AgentID string
	// Summary is one line for people.
	Summary string
	// Again allows a new run although an earlier workflow of the turn is closed.
	Again bool
}

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
	// Start starts a turn's workflow. It succeeds when the workflow is there already.
	Start(ctx context.Context, start TurnStart) error
	// Cancel tells a turn's workflow that the turn shall end. The journal knows already, so losing it costs only time.
	Cancel(ctx context.Context, turnID, reason string) error
	// Wake tells a turn's workflow that the journal has news of the turn. One that was not started yet is started. False means that the turn's
	// workflow is closed and heard nothing.
	Wake(ctx context.Context, start TurnStart) (bool, error)
	// State asks what became of a turn's workflow. An error says that nobody can tell now.
	State(ctx context.Context, turnID string) (WorkflowState, error)
	// Forget deletes a turn's workflow with its history. It succeeds when there is none.
	Forget(ctx context.Context, turnID string) error
	schedule.Calendars
}
