// Package outbox starts, wakes and cancels the workflows of turns, and announces turns to the workers.
//
// What is to be done is recorded in the transaction that makes it necessary: a row of the outbox for a workflow to start, a mark
// on the turn for a workflow to wake. So it is done in the end, whatever fails in between; a caller never waits for it.
package outbox

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/windlass-dev/windlass/libs/stack"
	"github.com/windlass-dev/windlass/services/sessions/store"
	"github.com/windlass-dev/windlass/workflows/contract"
)

const (
	// callTimeout bounds one call of the workflow engine.
	callTimeout = 10 * time.Second
	// takenFor is how long a turn that was taken out of the outbox is left alone by other replicas; longer than a start may last.
	takenFor = 30 * time.Second
	// maxPause bounds the pause between two attempts to start one workflow.
	maxPause = 15 * time.Second
	// afterEnd is how long after the end of a turn the outbox is read, so that it does not compete with those who wait for that end.
	afterEnd = 3 * time.Millisecond
	// maxJobs bounds the calls that wait to be made in the background. Those beyond it are left to the next sweep.
	maxJobs = 1024
)

// Turn names a turn whose workflow is to run: references only.
type Turn struct {
	// Tenant, TurnID, SessionID and AgentID are the workflow's input; the turn's id is also the workflow's.
	Tenant, TurnID, SessionID, AgentID string
	// ParentTurnID is the turn of which this one is a child, empty for others.
	ParentTurnID string
	// Ended is how the turn ended before its workflow was started, nil if it did not.
	Ended *contract.Ended
	// Again allows a new run although an earlier workflow of the turn is closed.
	Again bool
}

// Engine runs the workflows of turns. Implementations are safe for concurrent use.
type Engine interface {
	// Start starts a turn's workflow. It succeeds when the workflow exists.
	Start(ctx context.Context, t Turn) error
	// Cancel asks a turn's workflow to end the turn. The journal has the request already, so a lost call costs only time.
	Cancel(ctx context.Context, turnID string) error
	// Wake tells a turn's workflow that the journal has something new for it, and starts a workflow that was not started yet. It returns false
	// if the workflow is closed.
	Wake(ctx context.Context, t Turn) (bool, error)
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

// Config bounds the outbox. All fields are required.
type Config struct {
	// Interval is the time between two sweeps.
	Interval time.Duration
	// MaxOpen is how many workflows of turns may be open; 0 = no bound. MaxStarting is how many are started at the same time.
	MaxOpen, MaxStarting int
}

// Outbox starts, wakes and cancels workflows in the background. It is safe for concurrent use.
type Outbox struct {
	store  *store.Store
	engine Engine
	log    *slog.Logger
	cfg    Config

	now   chan struct{}      // read the outbox
	later chan time.Duration // read it after a time
	lost  chan struct{}      // a workflow that should exist does not
	jobs  chan func(context.Context)
	slots chan struct{}
	// late are the slots for turns that were over before their workflow was started: only some, so that other turns go first.
	late chan struct{}

	mu sync.Mutex
	// started are the rows of workflows that were started; they are deleted with the next read. If that never comes, the workflow is started
	// again, which does nothing, or at most replays a turn that is over.
	started []store.Outgoing
}

// New returns an outbox. Nothing happens before Run.
func New(cfg Config, s *store.Store, e Engine, log *slog.Logger) *Outbox {
	return &Outbox{
		store: s, engine: e, log: log, cfg: cfg, now: make(chan struct{}, 1), later: make(chan time.Duration, maxJobs),
		lost: make(chan struct{}, 1),
		jobs: make(chan func(context.Context), maxJobs), slots: make(chan struct{}, cfg.MaxStarting),
		late: make(chan struct{}, max(cfg.MaxStarting/4, 1)),
	}
}

// Trigger has the outbox read now.
func (o *Outbox) Trigger() {
	select {
	case o.now <- struct{}{}:
	default:
	}
}

// TriggerAfter has the outbox read after a time.
func (o *Outbox) TriggerAfter(d time.Duration) {
	select {
	case o.later <- d:
	default: // the next sweep reads it
	}
}

// TriggerAfterEnd has the outbox read once those who wait for the end of a turn have had a moment to get it.
func (o *Outbox) TriggerAfterEnd() { o.TriggerAfter(afterEnd) }

// Lost receives a value when a workflow that should exist does not.
func (o *Outbox) Lost() <-chan struct{} { return o.lost }

// Run starts, wakes and cancels workflows until ctx ends, then waits for the calls under way.
func (o *Outbox) Run(ctx context.Context) {
	var loops, calls sync.WaitGroup
	loops.Go(func() { o.runJobs(ctx, &calls) })
	loops.Go(func() { o.alarm(ctx) })
	tick := time.NewTicker(o.cfg.Interval)
	defer tick.Stop()
	for sweep := true; ctx.Err() == nil; {
		if err := o.drain(ctx, &calls, sweep); err != nil && ctx.Err() == nil {
			o.log.ErrorContext(ctx, "outbox cannot be read", "error", err)
		}
		select {
		case <-o.now:
			sweep = false
		case <-tick.C:
			sweep = true
		case <-ctx.Done():
		}
	}
	loops.Wait()
	calls.Wait()
	after, cancel := context.WithTimeout(context.WithoutCancel(ctx), callTimeout)
	defer cancel()
	if err := o.store.Write(after, func(tx *store.Tx) error { return drop(after, tx, o.startedRows()) }); err != nil {
		o.log.WarnContext(ctx, "outbox cannot be written", "error", err)
	}
}

// job calls the workflow engine in the background.
func (o *Outbox) job(f func(context.Context)) {
	select {
	case o.jobs <- f:
	default: // the database has it, and the next sweep reads it
	}
}

func (o *Outbox) runJobs(ctx context.Context, calls *sync.WaitGroup) {
	for {
		select {
		case f := <-o.jobs:
			calls.Go(func() {
				stack.GrowDeep()
				f(ctx)
			})
		case <-ctx.Done():
			return // another replica, or the next start of this one, finds what is left in the database
		}
	}
}

// alarm triggers reads at the times that TriggerAfter asked for.
func (o *Outbox) alarm(ctx context.Context) {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	var due []time.Time // ascending
	for {
		select {
		case d := <-o.later:
			at := time.Now().Add(d)
			i, _ := slices.BinarySearchFunc(due, at, time.Time.Compare)
			due = slices.Insert(due, i, at)
		case <-timer.C:
		case <-ctx.Done():
			return
		}
		past := 0
		for past < len(due) && !time.Now().Before(due[past]) {
			past++
		}
		if past > 0 {
			due = slices.Delete(due, 0, past)
			o.Trigger()
		}
		if len(due) > 0 {
			timer.Reset(time.Until(due[0]))
		}
	}
}

// Cancel asks a turn's workflow in the background to end the turn. The journal has the request already.
func (o *Outbox) Cancel(turnID string) {
	o.job(func(ctx context.Context) {
		call, cancel := context.WithTimeout(ctx, callTimeout)
		defer cancel()
		if err := o.engine.Cancel(call, turnID); err != nil && ctx.Err() == nil {
			o.log.WarnContext(ctx, "workflow not notified of a cancel", "turn_id", turnID, "error", err)
		}
	})
}
