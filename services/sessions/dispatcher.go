package sessions

import (
	"context"

	"github.com/windlass-dev/windlass/services/sessions/outbox"
	"github.com/windlass-dev/windlass/services/sessions/pending"
	"github.com/windlass-dev/windlass/services/sessions/schedule"
	"github.com/windlass-dev/windlass/services/sessions/turn"
)

// Dispatcher has turns run by a workflow engine. Implementations are safe for concurrent use.
type Dispatcher interface {
	outbox.Engine
	turn.Engine
	pending.Engine
	// Forget deletes a turn's workflow with its history. It succeeds when there is none.
	Forget(ctx context.Context, turnID string) error
	schedule.Calendars
}
