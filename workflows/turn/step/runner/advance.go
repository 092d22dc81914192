package runner

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/windlass-dev/windlass/libs/backoff"
	"github.com/windlass-dev/windlass/libs/faultpoint"
	"github.com/windlass-dev/windlass/libs/stack"
	executionv1 "github.com/windlass-dev/windlass/proto/gen/windlass/execution/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/workflows/contract"
	"github.com/windlass-dev/windlass/workflows/contract/stepkey"
	"github.com/windlass-dev/windlass/workflows/turn/engine"
	"github.com/windlass-dev/windlass/workflows/turn/step"
)

// patience is the longest backoff of a step that an advance waits for by itself. After a longer one any worker continues, so that a
// cancel is noticed in between.
const patience = time.Second

// advance is one run through a turn, ahead of its workflow.
type advance struct {
	runner *Runner
	turn   contract.TurnInput

	mu       sync.Mutex
	loaded   *step.Loaded
	outcomes []*turnv1.StepOutcome
	// running are the keys of running steps.
	running map[string]bool
	// claiming are steps whose claim is on its way along with a commit, and claimed those that were claimed so, by key.
	claiming, claimed map[string]*task
	talk              talk
	// news is ready when the journal has something new that this advance did not write.
	news <-chan struct{}
}

// result is the result of one step.
type result struct {
	ref *turnv1.StepRef
	out *turnv1.StepOutcome
	err error
}

// Advance runs the steps of a turn, as the engine decides, until the turn is over, and returns the outcomes of all its steps. It
// returns early with step.ErrWaiting if nothing can be done before a wait is answered, with step.ErrElsewhere if another worker runs
// the turn, with step.ErrTurnEnded if the turn was ended without its finish step, with a *step.RetryError if the next step has a long
// backoff, and with the context's cause if ctx ended; leases are released then. The turn's workflow continues with it. Send on news
// when there is something new in the journal, an answer or more input.
func (r *Runner) Advance(ctx context.Context, turn contract.TurnInput, news <-chan struct{}) ([]*turnv1.StepOutcome, error) {
	ctx = asWorker(ctx, turn)
	loaded, err := r.deps.Sessions.LoadTurn(ctx, &executionv1.LoadTurnRequest{TurnId: turn.TurnID, WithContext: true})
	if err != nil {
		return nil, step.Classify(ctx, fmt.Errorf("load turn: %w", err))
	}
	faultpoint.Hit(faultpoint.Started)
	a := &advance{
		runner: r, turn: turn, loaded: loaded, outcomes: loaded.GetOutcomes(), running: map[string]bool{},
		claiming: map[string]*task{}, claimed: map[string]*task{}, talk: newTalk(), news: news,
	}
	if first := loaded.GetContext(); first != nil {
		loaded.Context = nil
		a.Keep(stepkey.Infer(1), first)
	}
	defer a.release(ctx)
	return a.run(ctx)
}

// Outcomes returns the outcomes of the steps of a turn. Errors are those of Do.
func (r *Runner) Outcomes(ctx context.Context, turn contract.TurnInput) (*executionv1.GetOutcomesResponse, error) {
	ctx = asWorker(ctx, turn)
	resp, err := r.deps.Sessions.GetOutcomes(ctx, &executionv1.GetOutcomesRequest{TurnId: turn.TurnID})
	if err != nil {
		return nil, step.Classify(ctx, fmt.Errorf("read outcomes: %w", err))
	}
	return resp, nil
}

// run decides and runs steps until nothing is left. After an error it starts nothing new, but lets the running steps end.
func (a *advance) run(ctx context.Context) ([]*turnv1.StepOutcome, error) {
	steps, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	done := make(chan result)
	var failed error
	for {
		decision := engine.Next(a.state())
		switch {
		case decision.Done && len(a.running) == 0:
			return a.outcomes, nil
		case failed != nil || decision.Done:
		case decision.IsFinish() && len(a.running) > 0:
			if decision.Steps[0].GetEnding().GetStatus() == turnv1.TurnStatus_TURN_STATUS_CANCELLED {
				stop(step.ErrCancelled)
			}
		case decision.IsFinish(): // not stopped by a cancel
			a.start(ctx, decision.Steps[0], done)
		default:
			for _, ref := range decision.Steps {
				a.start(steps, ref, done)
			}
		}
		switch {
		case len(a.running) > 0:
			failed = errors.Join(failed, a.await(ctx, done))
		case failed == nil: // the decision named no step
			return nil, step.ErrWaiting
		default:
			return nil, failed
		}
	}
}

// await waits for the result of the next step, or for something new in the journal.
func (a *advance) await(ctx context.Context, done <-chan result) error {
	select {
	case e := <-done:
		a.end(e)
		if errors.Is(e.err, step.ErrStale) {
			return a.reread(ctx)
		}
		return e.err
	case <-a.news:
		return a.reread(ctx)
	}
}

// reread adds the outcomes that are in the journal now.
func (a *advance) reread(ctx context.Context) error {
	now, err := a.runner.Outcomes(ctx, a.turn)
	if err != nil {
		return err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, o := range now.GetOutcomes() {
		a.add(o)
	}
	return nil
}

func (a *advance) state() engine.State {
	a.mu.Lock()
	defer a.mu.Unlock()
	return engine.State{Outcomes: a.outcomes, Now: a.runner.Now(), Cancelled: a.loaded.GetCancelRequested()}
}

// start runs a step beside the others, unless it is running. A step that is being claimed is started when the commit that claims it is
// over.
func (a *advance) start(ctx context.Context, ref *turnv1.StepRef, done chan<- result) {
	a.mu.Lock()
	defer a.mu.Unlock()
	key := ref.GetKey()
	if a.running[key] || a.claiming[key] != nil {
		return
	}
	a.running[key] = true
	w := a.next(ref)
	go func() {
		stack.GrowDeep()
		out, err := a.do(ctx, w)
		done <- result{ref, out, err}
	}()
}

// next is a step that is started: as it was claimed, if it was and nothing has changed since. The caller holds the lock.
func (a *advance) next(ref *turnv1.StepRef) *task {
	ahead := a.claimed[ref.GetKey()]
	if ahead == nil {
		return a.task(ref)
	}
	delete(a.claimed, ref.GetKey())
	if proto.Equal(ahead.Ref, ref) && ahead.inputs == engine.Inputs(a.outcomes) {
		return ahead
	}
	ahead.abandon()
	w := a.task(ref)
	w.claimed = ahead.claimed
	return w
}

// task is a step of this advance. The caller holds the lock.
func (a *advance) task(ref *turnv1.StepRef) *task {
	w := &task{Work: &step.Work{Turn: a.turn, Ref: ref, Memory: a, Loaded: a.loaded}, advance: a}
	if ref.GetKind() != turnv1.StepKind_STEP_KIND_BEGIN && a.loaded.GetSurface() == nil {
		w.Loaded = nil // another worker began the turn: it is read again
	}
	return w
}

// end records the result of a step.
func (a *advance) end(e result) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.running, e.ref.GetKey())
	if e.err == nil {
		a.add(e.out)
	}
}

// add adds an outcome, once. The caller holds the lock.
func (a *advance) add(out *turnv1.StepOutcome) {
	for _, o := range a.outcomes {
		if o.GetKey() == out.GetKey() {
			return
		}
	}
	if out.GetKind() == turnv1.StepKind_STEP_KIND_COMPACT {
		a.talk = newTalk() // the journal shows another conversation now
	}
	a.outcomes = append(a.outcomes, out)
}

// do does one step, again and again while that may help and no rest takes long.
func (a *advance) do(ctx context.Context, w *task) (*turnv1.StepOutcome, error) {
	k, err := a.runner.kindOf(w.Ref)
	if err != nil {
		return nil, err
	}
	for attempt := uint32(1); ; attempt++ {
		out, err := a.attempt(ctx, k, w)
		retry, again := errors.AsType[*step.RetryError](err)
		if !again {
			return out, err
		}
		pause := pauseAfter(retry, max(w.Lease.GetAttempt(), attempt))
		if pause > patience || backoff.Sleep(ctx, pause+time.Millisecond) != nil {
			return nil, err
		}
	}
}

// attempt does a step once. The begin step is claimed with its commit: what it reads has no effects.
func (a *advance) attempt(ctx context.Context, k step.Kind, w *task) (*turnv1.StepOutcome, error) {
	if w.Ref.GetKind() != turnv1.StepKind_STEP_KIND_BEGIN {
		return a.runner.do(ctx, k, w)
	}
	w.Lease, w.Started = &step.Lease{}, time.Now()
	req, err := a.unclaimed(ctx, k, w)
	if err != nil { // the claimed way counts attempts, and says in the end why the turn fails
		w.Lease = nil
		return a.runner.do(ctx, k, w)
	}
	req.Claim = a.runner.claimRequest(w)
	return a.runner.commit(ctx, w, req)
}

// unclaimed does a step without a claim.
func (a *advance) unclaimed(ctx context.Context, k step.Kind, w *task) (*step.Commit, error) {
	action, err := k.Prepare(ctx, w.Work)
	if err != nil {
		return nil, err
	}
	return action.Do(ctx)
}

// release releases the leases that were taken ahead and not used.
func (a *advance) release(ctx context.Context) {
	a.mu.Lock()
	unused := slices.Collect(maps.Values(a.claimed))
	clear(a.claimed)
	over := engine.Next(engine.State{Outcomes: a.outcomes, Now: a.runner.Now()}).Done
	a.mu.Unlock()
	for _, w := range unused {
		w.close() // waits for an opened call, which may take the lock
		if w.Lease = w.claimed.GetLease(); w.Lease != nil {
			a.runner.release(ctx, w, 0)
		}
	}
	if over {
		a.runner.forget(a.turn.TurnID)
	}
}
