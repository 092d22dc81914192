package outbox

import (
	"context"

	"github.com/windlass-dev/windlass/services/sessions/journal"
	"github.com/windlass-dev/windlass/services/sessions/store"
)

// Waker notifies those who work on a turn that the journal has something new for it: the workers at once, over the bus; the
// workflow for certain.
type Waker struct {
	Outbox  *Outbox
	Workers *Workers
}

// Wake notifies them once the transaction is committed. The turn's session must be locked.
func (w Waker) Wake(tx *journal.Tx, t store.Turn) error {
	tx.After(func(ctx context.Context) { w.Workers.Wake(ctx, t) })
	return w.Outbox.NotifyWorkflow(tx, t)
}
