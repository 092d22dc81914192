package runner

import (
	"fmt"

	"github.com/windlass-dev/windlass/libs/media"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/workflows/turn/step"
	"github.com/windlass-dev/windlass/workflows/turn/step/begin"
	"github.com/windlass-dev/windlass/workflows/turn/step/compact"
	"github.com/windlass-dev/windlass/workflows/turn/step/infer"
	"github.com/windlass-dev/windlass/workflows/turn/step/model"
	"github.com/windlass-dev/windlass/workflows/turn/step/plan"
	"github.com/windlass-dev/windlass/workflows/turn/step/shield"
	"github.com/windlass-dev/windlass/workflows/turn/step/tool"
)

// newKinds builds the kinds of steps from the runner's dependencies.
func (r *Runner) newKinds() (map[turnv1.StepKind]step.Kind, error) {
	shields, err := shield.New(r.deps.Shields)
	if err != nil {
		return nil, err
	}
	converter, err := media.New()
	if err != nil {
		return nil, err
	}
	ask := model.Stream(r.deps.Inference, r.cfg.callBudget())
	decisions := plan.Deps{Sessions: r.deps.Sessions, Ask: ask, Pinned: r.pinned, Shields: shields, Facts: r.deps.Facts}
	return map[turnv1.StepKind]step.Kind{
		turnv1.StepKind_STEP_KIND_BEGIN: begin.Kind{Deps: begin.Deps{
			Sessions: r.deps.Sessions, Tools: r.deps.Tools, Inference: r.deps.Inference, Pinned: r.pinned, Shields: shields,
			Now: r.Now, ContextWindow: r.cfg.ContextWindow, Facts: r.deps.Facts,
		}},
		turnv1.StepKind_STEP_KIND_SELECT: plan.Choice{Deps: decisions},
		turnv1.StepKind_STEP_KIND_PLAN:   plan.Planner{Deps: decisions},
		turnv1.StepKind_STEP_KIND_INFER: infer.Kind{Deps: infer.Deps{
			Sessions: r.deps.Sessions, Ask: ask, Pinned: r.pinned, Shields: shields, Route: decisions.Route, Executors: r.deps.Executors,
			Transient: r.transient, Flush: r.deps.Bus.Flush, Coalesce: r.cfg.Coalesce, Log: r.deps.Log, Media: converter,
			Facts: r.deps.Facts,
		}},
		turnv1.StepKind_STEP_KIND_COMPACT: compact.Kind{Deps: compact.Deps{
			Sessions: r.deps.Sessions, Ask: ask, Pinned: r.pinned, Shields: shields, Attempts: r.cfg.InferAttempts,
		}},
		turnv1.StepKind_STEP_KIND_TOOL: tool.Kind{Deps: tool.Deps{
			Sessions: r.deps.Sessions, Registry: r.deps.Tools, Pinned: r.pinned, Shields: shields,
			Transient: r.transient, ExecutingAfter: r.cfg.ExecutingAfter, Log: r.deps.Log,
		}},
		turnv1.StepKind_STEP_KIND_FINISH: finishKind{r},
	}, nil
}

func (r *Runner) kindOf(ref *turnv1.StepRef) (step.Kind, error) {
	k, ok := r.kinds[ref.GetKind()]
	if !ok {
		return nil, step.Final(fmt.Errorf("step %q has unknown kind %v", ref.GetKey(), ref.GetKind()))
	}
	return k, nil
}

// forget ends the executor that waits for a round of a turn that is over.
func (r *Runner) forget(turn string) {
	if r.deps.Executors != nil {
		r.deps.Executors.Forget(turn)
	}
}
