// Package step does the steps of a turn: pin the surface, ask the model, run a tool, write the end. Do is the one way to a step, for
// whoever drives a turn. It adopts a step that is in the journal, waits for one that another worker does, and else takes the lease,
// does the work and commits it under the lease's fence. So it may be called by anybody, at any time, any number of times.
package step

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/bus"
	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/refclock"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	inferencev1 "github.com/windlass-dev/windlass/proto/gen/windlass/inference/v1"
	registryv1 "github.com/windlass-dev/windlass/proto/gen/windlass/registry/v1"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/workflows/contract"
)

// role is the name under which workers call the rest of the mesh.
const role = "worker"

// Deps are what a runner works with. All but Executors are required.
type Deps struct {
	// Sessions keeps the journal.
	Sessions sessionsv1.ExecutionServiceClient
	// Tools resolves and runs tools.
	Tools registryv1.ToolExecutionServiceClient
	// Inference calls models.
	Inference inferencev1.InferenceServiceClient
	// Shields check texts.
	Shields TextChecker
	// Executors does the rounds of agents with an executor; nil refuses them.
	Executors executors
	// Bus carries deltas out and news of other workers in.
	Bus *bus.Bus
	// Log takes what nobody else reports.
	Log *slog.Logger
	// HostTime is the clock of this host. Nil means time.Now; tests set it wrong.
	HostTime func() time.Time
}

// Runner does steps. It is safe for concurrent use.
type Runner struct {
	cfg   Config
	deps  Deps
	cache *cache
	clock *refclock.Clock
}

// New checks configuration and dependencies.
func New(cfg Config, deps Deps) (*Runner, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	switch {
	case deps.Sessions == nil, deps.Tools == nil, deps.Inference == nil, deps.Shields == nil, deps.Bus == nil, deps.Log == nil:
		return nil, errors.New("step runner: Sessions, Tools, Inference, Shields, Bus and Log are required")
	}
	clock := refclock.New(deps.HostTime)
	deps.Sessions = timed{deps.Sessions, clock}
	return &Runner{cfg: cfg, deps: deps, cache: newCache(), clock: clock}, nil
}

// kind is one kind of step.
type kind interface {
	// prepare reads what the claim tells. It runs once, before the claim, and also for a step that turns out to be done.
	prepare(ctx context.Context, w *work) error
	// do does the step and says what to commit. Its context ends with one of the causes of stop.go.
	do(ctx context.Context, w *work) (*sessionsv1.CommitStepRequest, error)
	// giveUp says what to commit when the step has failed for good, or, with a nil reason, when the turn was cancelled before the
	// step came to anything.
	giveUp(w *work, why *turnv1.TurnError) *sessionsv1.CommitStepRequest
}

// Do brings a step about and returns its outcome as it stands in the journal, whoever did it.
//
// Errors: *RetryError when trying again later may help (the lease is given back); ErrTurnEnded when the turn is over and the step
// was never done; the context's cause when ctx ended, except for ErrCancelled: then what was done so far is committed and returned.
// Other errors are final.
func (r *Runner) Do(ctx context.Context, turn contract.TurnInput, ref *turnv1.StepRef) (*turnv1.StepOutcome, error) {
	k, err := r.kindOf(ref)
	if err != nil {
		return nil, err
	}
	return r.do(asWorker(ctx, turn), k, &work{runner: r, turn: turn, ref: ref})
}

// do is Do for a step of a kind. A step of an advance may be claimed already, and is not waited for when somebody else does it.
func (r *Runner) do(ctx context.Context, k kind, w *work) (*turnv1.StepOutcome, error) {
	if err := k.prepare(ctx, w); err != nil {
		return nil, classify(ctx, fmt.Errorf("prepare %s: %w", w.ref.GetKey(), err))
	}
	for waited := 0; ; {
		claim, err := r.claim(ctx, w)
		if err != nil {
			return nil, classify(ctx, fmt.Errorf("claim %s: %w", w.ref.GetKey(), err))
		}
		switch {
		case claim.GetDone() != nil:
			return claim.GetDone(), nil
		case claim.GetBusy() != nil && claim.GetBusy().GetBudgetId() == "" && w.advance != nil:
			return nil, ErrElsewhere
		case claim.GetBusy() != nil:
			if claim.GetBusy().GetBudgetId() != "" {
				claim.GetBusy().ExpiresInMs = budgetPause(claim.GetBusy(), waited)
				waited++
			}
			err := r.waitFor(ctx, w, claim.GetBusy())
			if errors.Is(err, ErrCancelled) {
				return r.stopHolder(ctx, k, w)
			}
			if err != nil {
				return nil, err
			}
		default:
			out, err := r.run(ctx, k, w, claim)
			if errors.Is(err, errLeaseLost) {
				r.deps.Log.InfoContext(ctx, "lease of a step lost, adopting", "turn", w.turn.TurnID, "step", w.ref.GetKey())
				continue
			}
			return out, err
		}
	}
}

// stopHolder has a step stopped that somebody else does, and waits for what it leaves. A cancel that came by the journal is known to the
// holder; one that came by Temporal is written there first.
func (r *Runner) stopHolder(ctx context.Context, k kind, w *work) (*turnv1.StepOutcome, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), r.cfg.CommitPatience)
	defer cancel()
	_, err := r.deps.Sessions.RequestCancel(ctx, &sessionsv1.RequestCancelRequest{TurnId: w.turn.TurnID, Reason: "stopped in Temporal"})
	if err != nil && !fault.Is(err, faultv1.Reason_REASON_TURN_ENDED) {
		return nil, classify(ctx, fmt.Errorf("request cancel: %w", err))
	}
	return r.do(ctx, k, w)
}

// asWorker gives a context that acts for the worker in the turn's tenant.
func asWorker(ctx context.Context, turn contract.TurnInput) context.Context {
	p := authn.Service(role)
	p.Tenant = turn.Tenant
	return authn.With(ctx, p)
}

func (r *Runner) kindOf(ref *turnv1.StepRef) (kind, error) {
	switch ref.GetKind() {
	case turnv1.StepKind_STEP_KIND_BEGIN:
		return begin{r}, nil
	case turnv1.StepKind_STEP_KIND_INFER:
		return infer{r}, nil
	case turnv1.StepKind_STEP_KIND_TOOL:
		return tool{r}, nil
	case turnv1.StepKind_STEP_KIND_FINISH:
		return finish{r}, nil
	case turnv1.StepKind_STEP_KIND_SELECT:
		return choice{r}, nil
	case turnv1.StepKind_STEP_KIND_PLAN:
		return planner{r}, nil
	case turnv1.StepKind_STEP_KIND_COMPACT:
		return compact{r}, nil
	default:
		return nil, &finalError{fmt.Errorf("step %q has unknown kind %v", ref.GetKey(), ref.GetKind())}
	}
}

// run does a step under its lease.
func (r *Runner) run(ctx context.Context, k kind, w *work, claim *sessionsv1.ClaimStepResponse) (_ *turnv1.StepOutcome, err error) {
	w.lease, w.cancelled, w.started = claim.GetLease(), claim.GetCancelRequested(), time.Now()
	held, release := r.hold(ctx, w)
	defer func() {
		if p := recover(); p != nil {
			r.deps.Log.ErrorContext(ctx, "step panicked", "turn", w.turn.TurnID, "step", w.ref.GetKey(), "panic", p)
			err = &RetryError{Err: fmt.Errorf("step %s panicked", w.ref.GetKey())}
		}
		release(err)
	}()
	var commit *sessionsv1.CommitStepRequest
	given := false
	if w.lease.GetAttempt() > r.cfg.MaxAttempts {
		given = true
		commit = k.giveUp(w, &turnv1.TurnError{Code: "internal", Message: "The step was begun too often without coming to an end."})
	} else if commit, err = k.do(held, w); err != nil {
		if commit, err = r.settle(held, k, w, err); err != nil {
			return nil, err
		}
	}
	out, err := r.commit(held, w, commit)
	if given || !IsFinal(err) {
		return out, err
	}
	// The journal will not take this outcome, however often it is written. The step ends with that instead.
	if fault.Is(err, faultv1.Reason_REASON_TOO_LARGE) {
		err = outcomeTooLarge(w.ref.GetKey())
	}
	return r.commit(held, w, k.giveUp(w, turnError(err)))
}

// settle decides what an error of a step means: give up and say so in the journal, or try again.
func (r *Runner) settle(ctx context.Context, k kind, w *work, err error) (*sessionsv1.CommitStepRequest, error) {
	if ctx.Err() != nil {
		switch cause := context.Cause(ctx); {
		case errors.Is(cause, ErrCancelled):
			w.cancelled = true
			return k.giveUp(w, nil), nil
		case errors.Is(cause, errDeadline):
			return k.giveUp(w, deadlineError()), nil
		default:
			return nil, cause
		}
	}
	classified := classify(ctx, err)
	retry, again := errors.AsType[*RetryError](classified)
	switch {
	case IsFinal(classified):
		return k.giveUp(w, turnError(err)), nil
	case !again:
		return nil, classified
	}
	deadline := w.deadline()
	late := !deadline.IsZero() && r.Now().Add(retry.Delay).After(deadline)
	if w.lease.GetAttempt() >= r.cfg.attempts(w.ref.GetKind()) || late {
		return k.giveUp(w, turnError(err)), nil
	}
	return nil, classified
}

// commit writes the outcome. It outlives the step's context, and it tries for a while: the work is done, only the writing is not.
func (r *Runner) commit(ctx context.Context, w *work, req *sessionsv1.CommitStepRequest) (*turnv1.StepOutcome, error) {
	req.TurnId, req.Fence = w.turn.TurnID, w.lease.GetFence()
	req.DurationMs = int32(time.Since(w.started).Milliseconds())
	if req.Outcome == nil {
		req.Outcome = &turnv1.StepOutcome{}
	}
	req.Outcome.Key, req.Outcome.Kind = w.ref.GetKey(), w.ref.GetKind()
	req.Outcome.Cancelled = req.Outcome.Cancelled || w.cancelled
	w.priced(req.GetOutcome().GetUsage())
	if w.advance != nil {
		w.advance.lookAhead(ctx, w, req)
		defer w.advance.landed(req)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), r.cfg.CommitPatience)
	defer cancel()
	for pause := 50 * time.Millisecond; ; pause = min(2*pause, time.Second) {
		resp, err := r.deps.Sessions.CommitStep(ctx, req)
		if err == nil && resp.GetBusy() != nil {
			return nil, ErrElsewhere
		}
		if err == nil && resp.GetStale() {
			return nil, ErrStale
		}
		if err == nil {
			if w.advance != nil {
				w.advance.took(req, resp)
			}
			return resp.GetOutcome(), nil
		}
		err = classify(context.WithoutCancel(ctx), fmt.Errorf("commit %s: %w", w.ref.GetKey(), err))
		if _, again := errors.AsType[*RetryError](err); !again || !sleep(ctx, pause) {
			return nil, err
		}
	}
}

// sleep waits and tells whether ctx still lives.
func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}
