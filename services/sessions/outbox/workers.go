package outbox

import (
	"context"
	"encoding/json"
	"log/slog"
	"time"

	"github.com/windlass-dev/windlass/services/sessions/store"
	"github.com/windlass-dev/windlass/workflows/contract"
)

// workersBatch is how many turns without a worker one round announces.
const workersBatch = 100

// publisher is what Workers needs of the bus. It must not block.
type publisher interface {
	Publish(subject string, data []byte) error
}

// Workers tells the workers about turns over the bus. A message may be lost: the workflow engine has every turn run in the end.
type Workers struct {
	store *store.Store
	bus   publisher
	log   *slog.Logger
	// interval is within what time a turn without a worker is announced.
	interval time.Duration
}

// NewWorkers returns Workers. A turn that has lost its worker is announced within the interval.
func NewWorkers(s *store.Store, bus publisher, interval time.Duration, log *slog.Logger) *Workers {
	return &Workers{store: s, bus: bus, interval: interval, log: log}
}

// Begin announces a turn that may begin: one of the workers starts its eager run.
func (w *Workers) Begin(ctx context.Context, t store.Turn) {
	w.publish(ctx, contract.EagerRunSubject(t.Tenant), t)
}

// Wake announces a turn that a worker may go on with.
func (w *Workers) Wake(ctx context.Context, t store.Turn) {
	w.publish(ctx, contract.WakeSubject(t.Tenant), t)
}

// Run announces, twice in each interval, the turns with an expired lease and those that no worker has, so that another worker
// takes over long before the workflow engine would notice. All workers get the message, the lost one too if it lives; the lease
// decides which of them gets the step.
func (w *Workers) Run(ctx context.Context) {
	var after store.TurnPoint
	tick := time.NewTicker(max(w.interval/2, time.Millisecond))
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		turns, err := w.store.ExpiredLeases(ctx, w.store.Now(), workersBatch)
		if err != nil && ctx.Err() == nil {
			w.log.ErrorContext(ctx, "expired leases cannot be listed", "error", err)
		}
		for _, t := range turns {
			w.Wake(ctx, t)
		}
		after = w.wakeUnowned(ctx, after)
	}
}

// wakeUnowned announces turns that no worker has although there is something to do for them: their worker was lost between two
// steps, or before the first, so that no lease expires. It takes up to workersBatch turns behind those of the call before, and
// returns where the next call goes on. A turn whose worker lives and is merely slow to claim its next step is announced too; the
// lease decides.
func (w *Workers) wakeUnowned(ctx context.Context, after store.TurnPoint) store.TurnPoint {
	turns, err := w.store.Unowned(ctx, w.store.Now().Add(-w.interval), after, workersBatch)
	if err != nil {
		if ctx.Err() == nil {
			w.log.ErrorContext(ctx, "unowned turns cannot be listed", "error", err)
		}
		return after
	}
	for _, t := range turns {
		w.Wake(ctx, t)
	}
	if len(turns) < workersBatch {
		return store.TurnPoint{}
	}
	last := turns[len(turns)-1]
	return store.TurnPoint{CreateTime: last.CreateTime, ID: last.ID}
}

func (w *Workers) publish(ctx context.Context, subject string, t store.Turn) {
	data, err := json.Marshal(contract.EagerRun{
		TurnInput:   contract.TurnInput{Tenant: t.Tenant, TurnID: t.ID, SessionID: t.SessionID, AgentID: t.AgentID},
		TraceParent: t.TraceParent,
	})
	if err == nil {
		err = w.bus.Publish(subject, data)
	}
	if err != nil {
		w.log.DebugContext(ctx, "workers not notified of a turn", "turn_id", t.ID, "error", err)
	}
}
