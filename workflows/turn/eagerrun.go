package turn

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/windlass-dev/windlass/libs/bus"
	"github.com/windlass-dev/windlass/libs/metrics"
	"github.com/windlass-dev/windlass/libs/stack"
	"github.com/windlass-dev/windlass/libs/telemetry"
	executionv1 "github.com/windlass-dev/windlass/proto/gen/windlass/execution/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/workflows/contract"
	"github.com/windlass-dev/windlass/workflows/turn/step"
)

// finishedKept is how many finished turns a worker remembers, so that their workflows need not ask the journal.
const finishedKept = 2048

// advancer is what an eager run needs of a runner.Runner.
type advancer interface {
	Advance(ctx context.Context, turn contract.TurnInput, news <-chan struct{}) ([]*turnv1.StepOutcome, error)
	Outcomes(ctx context.Context, turn contract.TurnInput) (*executionv1.GetOutcomesResponse, error)
}

// runs are the eager runs of a worker: turns that it runs ahead of their workflows, a bounded number. The journal decides who runs a
// turn: a run ends at once if it finds another worker at it, and one that is lost is replaced by the worker that claims the next step.
type runs struct {
	steps advancer
	bus   *bus.Bus
	log   *slog.Logger
	limit int
	// joinTime is that of Config.
	joinTime time.Duration

	mu       sync.Mutex
	byTurn   map[string]*run
	stopped  bool
	finished *lru.Cache[string, []*turnv1.StepOutcome]
	group    []*bus.Worker
	all      sync.WaitGroup
	observed *metrics.Observed
	ctx      context.Context // ends the runs of a worker that stops
	cancel   context.CancelCauseFunc
}

// run is the eager run of one turn.
type run struct {
	turn  contract.TurnInput
	trace string
	// news notifies the run of something new in the journal; it buffers one notification.
	news chan struct{}
	// done is closed at the end; outcomes and err are set before.
	done     chan struct{}
	outcomes []*turnv1.StepOutcome
	err      error
}

func newRuns(steps advancer, b *bus.Bus, log *slog.Logger, limit int, joinTime time.Duration) (*runs, error) {
	finished, err := lru.New[string, []*turnv1.StepOutcome](finishedKept)
	if err != nil {
		return nil, fmt.Errorf("turn worker: %w", err)
	}
	r := &runs{steps: steps, bus: b, log: log, limit: limit, joinTime: joinTime, byTurn: map[string]*run{}, finished: finished}
	r.ctx, r.cancel = context.WithCancelCause(context.Background())
	r.observed, err = metrics.Process().Observe(metrics.Rows{metrics.WorkerRuns, metrics.WorkerPlaces}, r.occupied)
	if err != nil {
		return nil, fmt.Errorf("turn worker: %w", err)
	}
	return r, nil
}

// occupied reports how many of the worker's places are taken.
func (r *runs) occupied(context.Context) ([]metrics.Value, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return []metrics.Value{
		{Metric: metrics.WorkerRuns, Number: float64(len(r.byTurn))}, {Metric: metrics.WorkerPlaces, Number: float64(r.limit)},
	}, nil
}

// start subscribes to eager runs. While the bus is down there are none, and turns are run by their workflows.
func (r *runs) start() error {
	begin, err := r.bus.QueueSubscribe(contract.AllEagerRuns, contract.EagerRunQueue, r.receive)
	if err != nil {
		return fmt.Errorf("listen for eager runs: %w", err)
	}
	r.group = append(r.group, begin)
	// No queue group: every worker receives it.
	wake, err := r.bus.QueueSubscribe(contract.AllWakes, "", r.receive)
	if err != nil {
		return fmt.Errorf("listen for lost turns: %w", err)
	}
	r.group = append(r.group, wake)
	return nil
}

func (r *runs) receive(m bus.Msg) {
	var turn contract.EagerRun
	if err := json.Unmarshal(m.Data, &turn); err != nil || turn.TurnID == "" {
		r.log.Warn("announcement of a turn cannot be read", "error", err)
		return
	}
	r.ensure(telemetry.WithTraceParent(r.ctx, turn.TraceParent), turn.TurnInput)
}

// ensure returns the run of a turn. It starts one in the trace of ctx, or notifies the current one of something new. It returns nil if
// the limit of runs is reached, the turn has finished here, or the worker is stopping.
func (r *runs) ensure(ctx context.Context, turn contract.TurnInput) *run {
	r.mu.Lock()
	defer r.mu.Unlock()
	if now, ok := r.byTurn[turn.TurnID]; ok {
		select {
		case now.news <- struct{}{}:
		default: // it is notified already
		}
		return now
	}
	if r.stopped || len(r.byTurn) >= r.limit || r.finished.Contains(turn.TurnID) {
		return nil
	}
	one := &run{turn: turn, trace: telemetry.TraceParent(ctx), news: make(chan struct{}, 1), done: make(chan struct{})}
	r.byTurn[turn.TurnID] = one
	r.all.Go(func() { r.work(one) })
	return one
}

func (r *runs) work(one *run) {
	stack.GrowDeep()
	ctx, span := telemetry.Tracer("turn").Start(telemetry.WithTraceParent(r.ctx, one.trace), "EagerRun:"+contract.TurnWorkflow)
	defer span.End()
	for again := true; again; {
		one.outcomes, one.err = r.steps.Advance(ctx, one.turn, one.news)
		again = r.remove(one)
	}
	if one.err != nil {
		r.log.DebugContext(ctx, "run left to others", "turn_id", one.turn.TurnID, "error", one.err)
	}
}

// remove removes a run that has ended, unless it waits and was notified since: then it reports true, and the run has to continue.
func (r *runs) remove(one *run) (again bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(one.news) > 0 && errors.Is(one.err, step.ErrWaiting) && !r.stopped {
		return true
	}
	delete(r.byTurn, one.turn.TurnID)
	if one.err == nil {
		r.finished.Add(one.turn.TurnID, one.outcomes)
	}
	close(one.done)
	return false
}

// current returns the run of a turn, nil if there is none.
func (r *runs) current(turn string) *run {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.byTurn[turn]
}

// stop ends the subscriptions, lets runs continue for the drain time, then cancels them, which releases their leases, and hands them
// over to other workers.
func (r *runs) stop(drain time.Duration) {
	for _, w := range r.group {
		w.Close()
	}
	r.mu.Lock()
	r.stopped = true
	left := make([]*run, 0, len(r.byTurn))
	for _, one := range r.byTurn {
		left = append(left, one)
	}
	r.mu.Unlock()
	r.observed.Stop()
	timer := time.AfterFunc(drain, func() { r.cancel(errDrained) })
	r.all.Wait()
	timer.Stop()
	r.cancel(nil)
	for _, one := range left {
		if one.err != nil && !needsNoWorker(one.err) {
			r.handOver(contract.EagerRun{TurnInput: one.turn, TraceParent: one.trace})
		}
	}
}

// needsNoWorker reports whether a turn whose run ended with this error need not be handed over to another worker.
func needsNoWorker(err error) bool {
	return errors.Is(err, step.ErrElsewhere) || errors.Is(err, step.ErrTurnEnded) || errors.Is(err, step.ErrWaiting)
}

func (r *runs) handOver(turn contract.EagerRun) {
	data, err := json.Marshal(turn)
	if err == nil {
		err = r.bus.Publish(contract.EagerRunSubject(turn.Tenant), data)
	}
	if err != nil {
		r.log.Debug("turn not handed over, its workflow continues", "turn_id", turn.TurnID, "error", err)
	}
}
