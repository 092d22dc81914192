// Package runner does the steps of a turn. Do is the one way to a step: it adopts a step that is in the journal, waits for one that
// another worker does, and else takes the lease, does the work and commits it under the lease's fence. So it may be called by any
// worker, at any time, any number of times. Advance does one step after the other, as the engine decides.
package runner

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/bus"
	"github.com/windlass-dev/windlass/libs/config"
	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/refclock"
	executionv1 "github.com/windlass-dev/windlass/proto/gen/windlass/execution/v1"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	inferencev1 "github.com/windlass-dev/windlass/proto/gen/windlass/inference/v1"
	knowledgev1 "github.com/windlass-dev/windlass/proto/gen/windlass/knowledge/v1"
	registryv1 "github.com/windlass-dev/windlass/proto/gen/windlass/registry/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/workflows/contract"
	"github.com/windlass-dev/windlass/workflows/turn/step"
	"github.com/windlass-dev/windlass/workflows/turn/step/infer"
	"github.com/windlass-dev/windlass/workflows/turn/step/pinned"
	"github.com/windlass-dev/windlass/workflows/turn/step/shield"
)

// role is the name under which workers call the rest of the mesh.
const role = "worker"

// Deps are what a runner works with. All but Executors and HostTime are required.
type Deps struct {
	// Sessions keeps the journal.
	Sessions executionv1.ExecutionServiceClient
	// Tools resolves and runs tools.
	Tools registryv1.ToolExecutionServiceClient
	// Inference calls models.
	Inference inferencev1.InferenceServiceClient
	// Shields check texts.
	Shields shield.TextChecker
	// Facts recalls facts about users; nil, which is allowed, recalls none.
	Facts knowledgev1.RecallServiceClient
	// Executors does the rounds of agents with an executor; nil refuses them.
	Executors infer.Executors
	// Bus carries deltas out, and events of other workers in.
	Bus *bus.Bus
	// Log takes errors that are reported nowhere else.
	Log *slog.Logger
	// HostTime is the clock of this host. Nil means time.Now; tests set it wrong.
	HostTime func() time.Time
}

// Runner does steps. It is safe for concurrent use.
type Runner struct {
	cfg    Config
	deps   Deps
	pinned *pinned.Cache
	kinds  map[turnv1.StepKind]step.Kind
	clock  *refclock.Clock
}

// New checks configuration and dependencies.
func New(cfg Config, deps Deps) (*Runner, error) {
	config.Fill(&cfg)
	if err := cfg.check(); err != nil {
		return nil, err
	}
	switch {
	case deps.Sessions == nil, deps.Tools == nil, deps.Inference == nil, deps.Shields == nil, deps.Bus == nil, deps.Log == nil:
		return nil, errors.New("step runner: Sessions, Tools, Inference, Shields, Bus and Log are required")
	}
	clock := refclock.New(deps.HostTime)
	deps.Sessions = timed{deps.Sessions, clock}
	r := &Runner{cfg: cfg, deps: deps, pinned: pinned.New(cfg.Owner, cfg.MaxShownTools, deps.Sessions, deps.Tools), clock: clock}
	var err error
	r.kinds, err = r.newKinds()
	return r, err
}

// task is a step as the runner does it.
type task struct {
	*step.Work
	// advance is what the step is part of, nil when it is asked for by itself.
	advance *advance
	// claimed is the answer to a claim that was made with an earlier commit, nil when there was none. It is used once, and so is action,
	// which was prepared for that claim. drop drops what the action began meanwhile, nil if it began nothing.
	claimed *executionv1.ClaimStepResponse
	action  step.Action
	drop    func()
	// inputs counts the inputs of the running turn that were known when the action was prepared.
	inputs uint32
}

// take returns what does the step.
func (w *task) take(ctx context.Context, k step.Kind) (step.Action, error) {
	if action := w.action; action != nil {
		w.action = nil
		return action, nil
	}
	return k.Prepare(ctx, w.Work)
}

// abandon is close without waiting.
func (w *task) abandon() {
	if w.drop != nil {
		go w.drop()
	}
}

// close drops what was begun before the step was claimed.
func (w *task) close() {
	if w.drop != nil {
		w.drop()
		w.drop = nil
	}
}

// Do runs a step, unless it has run, and returns its outcome as the journal has it, whichever worker ran it. Errors: *step.RetryError
// if a later attempt may succeed (the lease is released); step.ErrTurnEnded if the turn is over and the step never ran; the context's
// cause if ctx ended, except for step.ErrCancelled: then what was done so far is committed and returned. Other errors are final.
func (r *Runner) Do(ctx context.Context, turn contract.TurnInput, ref *turnv1.StepRef) (*turnv1.StepOutcome, error) {
	k, err := r.kindOf(ref)
	if err != nil {
		return nil, err
	}
	return r.do(asWorker(ctx, turn), k, &task{Work: &step.Work{Turn: turn, Ref: ref}})
}

// do is Do for a step of a kind. A step of an advance may be claimed already, and is not waited for while another worker does it.
func (r *Runner) do(ctx context.Context, k step.Kind, w *task) (*turnv1.StepOutcome, error) {
	defer w.close()
	action, err := w.take(ctx, k)
	if err != nil {
		return nil, step.Classify(ctx, fmt.Errorf("prepare %s: %w", w.Ref.GetKey(), err))
	}
	for waited := 0; ; {
		claim, err := r.claim(ctx, w)
		if err != nil {
			return nil, step.Classify(ctx, fmt.Errorf("claim %s: %w", w.Ref.GetKey(), err))
		}
		busy := claim.GetBusy()
		switch {
		case claim.GetDone() != nil:
			return claim.GetDone(), nil
		case busy != nil && busy.GetBudgetId() == "" && w.advance != nil:
			return nil, step.ErrElsewhere
		case busy != nil:
			if busy.GetBudgetId() != "" {
				busy.ExpiresIn = durationpb.New(budgetPause(busy, waited))
				waited++
			}
			err := r.waitFor(ctx, w, busy)
			if errors.Is(err, step.ErrCancelled) {
				return r.stopHolder(ctx, k, w)
			}
			if err != nil {
				return nil, err
			}
		default:
			out, err := r.run(ctx, action, w, claim)
			if errors.Is(err, step.ErrLeaseLost) {
				r.deps.Log.InfoContext(ctx, "lease of a step lost, adopting", "turn", w.Turn.TurnID, "step", w.Ref.GetKey())
				continue
			}
			return out, err
		}
	}
}

// stopHolder cancels a step that another worker does, and waits for its outcome. The holder knows a cancel that came by the journal; one
// that came by Temporal is written there first.
func (r *Runner) stopHolder(ctx context.Context, k step.Kind, w *task) (*turnv1.StepOutcome, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), r.cfg.CommitPatience)
	defer cancel()
	_, err := r.deps.Sessions.RequestCancel(ctx, &executionv1.RequestCancelRequest{TurnId: w.Turn.TurnID, Reason: "stopped in Temporal"})
	if err != nil && !fault.Is(err, faultv1.Reason_REASON_TURN_ENDED) {
		return nil, step.Classify(ctx, fmt.Errorf("request cancel: %w", err))
	}
	return r.do(ctx, k, w)
}

// asWorker returns a context that acts for the worker in the turn's tenant.
func asWorker(ctx context.Context, turn contract.TurnInput) context.Context {
	p := authn.Service(role)
	p.Tenant = turn.Tenant
	return authn.With(ctx, p)
}
