package sessions

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/windlass-dev/windlass/libs/stack"
	"github.com/windlass-dev/windlass/libs/telemetry"
	"github.com/windlass-dev/windlass/services/sessions/store"
)

const (
	// startTimeout bounds one start of a workflow.
	startTimeout = 10 * time.Second
	// takenFor is how long a turn taken out of the outbox is left alone by others; longer than a start may last.
	takenFor = 30 * time.Second
	// maxStartPause bounds the pause between two tries to start one workflow.
	maxStartPause = 15 * time.Second
	// endRest is how long after the end of a turn the outbox is looked into.
	endRest = 3 * time.Millisecond
)

// outbox hands accepted turns to the dispatcher. A caller never waits for it: kick only wakes it. The rows in the database are the truth, so a
// turn that was accepted is started, whatever happens in between.
type outbox struct {
	store      *store.Store
	dispatcher Dispatcher
	log        *slog.Logger
	cfg        Config
	wake       chan struct{}
	// lost is told when a workflow was not there that should be.
	lost  chan struct{}
	slots chan struct{}
	// late are the slots that turns may take which were over before their workflow was started: only some, so that others go first.
	late chan struct{}

	mu sync.Mutex
	// started are the rows of workflows that were started; they are removed with the next look. If that is never taken, the workflow is started
	// again, which does nothing, or at most walks once more through a turn that is over.
	started []store.Outgoing
	stopped bool
	flying  sync.WaitGroup
	ctx     context.Context // of Run; ends work in flight
}

func newOutbox(s *store.Store, d Dispatcher, log *slog.Logger, cfg Config) *outbox {
	return &outbox{
		store: s, dispatcher: d, log: log, cfg: cfg, wake: make(chan struct{}, 1), lost: make(chan struct{}, 1),
		slots: make(chan struct{}, cfg.MaxStarting), late: make(chan struct{}, max(cfg.MaxStarting/4, 1)),
	}
}

// kick has the outbox looked into soon.
func (o *outbox) kick() {
	select {
	case o.wake <- struct{}{}:
	default:
	}
}

// kickSoon is kick once those who wait for the end of a turn have heard of it: what the outbox has to do then is not urgent.
func (o *outbox) kickSoon() { time.AfterFunc(endRest, o.kick) }

// run sends until ctx ends, then waits for what is in flight.
func (o *outbox) run(ctx context.Context) {
	o.mu.Lock()
	o.ctx = ctx
	o.mu.Unlock()
	tick := time.NewTicker(o.cfg.SweepInterval)
	defer tick.Stop()
	for swept := true; ctx.Err() == nil; {
		if err := o.drain(ctx, swept); err != nil && ctx.Err() == nil {
			o.log.ErrorContext(ctx, "outbox cannot be read", "error", err)
		}
		select {
		case <-o.wake:
			swept = false
		case <-tick.C:
			swept = true
		case <-ctx.Done():
		}
	}
	o.mu.Lock()
	o.stopped = true
	o.mu.Unlock()
	o.flying.Wait()
	after, cancel := context.WithTimeout(context.WithoutCancel(ctx), startTimeout)
	defer cancel()
	if err := o.store.Write(after, func(tx *store.Tx) error { return drop(after, tx, o.startedRows()) }); err != nil {
		o.log.WarnContext(ctx, "outbox cannot be written", "error", err)
	}
}

// startedRows are the rows to be removed. Only the goroutine of run takes from them.
func (o *outbox) startedRows() []store.Outgoing {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.started
}

// forget takes the first rows off: they are removed.
func (o *outbox) forget(n int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.started = slices.Clone(o.started[n:])
}

// drop removes rows of started workflows.
func drop(ctx context.Context, tx *store.Tx, rows []store.Outgoing) error {
	for _, row := range rows {
		if err := tx.DropOutgoing(ctx, row.Tenant, row.TurnID); err != nil {
			return err
		}
	}
	return nil
}

// drain starts what may be started, as far as slots are free. A slot that becomes free kicks. A sweep also removes what was started when
// there is nothing to start.
func (o *outbox) drain(ctx context.Context, sweep bool) error {
	for {
		free := cap(o.slots) - len(o.slots)
		if free == 0 {
			return nil
		}
		now := o.store.NowUs()
		started := o.startedRows()
		if some, err := o.store.HasOutgoing(ctx, now); err != nil || !some && (!sweep || len(started) == 0) {
			return err
		}
		sweep = false
		var taken, over []store.Outgoing
		err := o.store.Write(ctx, func(tx *store.Tx) (err error) {
			if err := drop(ctx, tx, started); err != nil {
				return err
			}
			until := now + takenFor.Microseconds()
			if taken, err = tx.TakeOutgoing(ctx, now, until, free, o.cfg.MaxOpenWorkflows); err != nil {
				return err
			}
			over, err = tx.TakeOver(ctx, now, until, min(free-len(taken), cap(o.late)-len(o.late)))
			return err
		})
		if err != nil {
			return err
		}
		o.forget(len(started))
		if len(taken)+len(over) == 0 {
			return nil
		}
		for _, out := range taken {
			o.launch(ctx, out)
		}
		for _, out := range over {
			o.launch(ctx, out, o.late)
		}
	}
}

// launch starts a workflow in the background, in a slot of each kind that it needs. Only the goroutine of run takes slots, so it never
// blocks.
func (o *outbox) launch(ctx context.Context, out store.Outgoing, also ...chan struct{}) {
	slots := append(also, o.slots)
	for _, s := range slots {
		s <- struct{}{}
	}
	o.flying.Go(func() {
		stack.Grow()
		o.start(ctx, out)
		for _, s := range slots {
			<-s
		}
		o.kick()
	})
}

func (o *outbox) start(ctx context.Context, out store.Outgoing) {
	starting, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	err := o.dispatcher.Start(telemetry.WithTraceParent(starting, out.TraceParent), TurnStart{
		Tenant: out.Tenant, TurnID: out.TurnID, SessionID: out.SessionID, AgentID: out.AgentID, Summary: out.Summary, Again: out.Again,
	})
	if err == nil {
		o.mu.Lock()
		o.started = append(o.started, out)
		o.mu.Unlock()
		return
	}
	after := context.WithoutCancel(ctx) // that it was not started must be noted, also on the way out
	if ctx.Err() == nil {
		o.log.WarnContext(ctx, "turn cannot be dispatched yet", "turn_id", out.TurnID, "attempt", out.Attempts, "error", err)
	}
	pause := min(time.Second<<min(out.Attempts-1, 10), maxStartPause)
	if err := o.store.Write(after, func(tx *store.Tx) error {
		return tx.FreeOutgoing(after, out.Tenant, out.TurnID, o.store.NowUs()+pause.Microseconds())
	}); err != nil {
		o.log.ErrorContext(ctx, "outbox cannot be written", "turn_id", out.TurnID, "error", err)
	}
}

// cancel tells a turn's workflow in the background that somebody wants its end. The journal has it already.
func (o *outbox) cancel(turnID, reason string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.stopped || o.ctx == nil {
		return // a worker sees it in the journal
	}
	o.flying.Go(func() {
		ctx, cancel := context.WithTimeout(o.ctx, startTimeout)
		defer cancel()
		if err := o.dispatcher.Cancel(ctx, turnID, reason); err != nil && o.ctx.Err() == nil {
			o.log.WarnContext(ctx, "workflow was not told of a cancel", "turn_id", turnID, "error", err)
		}
	})
}
