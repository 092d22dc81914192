package turn

import (
	"context"

	"google.golang.org/protobuf/proto"

	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/workflows/contract"
	"github.com/windlass-dev/windlass/workflows/turn/engine"
	"github.com/windlass-dev/windlass/workflows/turn/step"
)

// withoutText returns an outcome as it may stand in workflow history, which outlives the session and is not redacted: without the titles
// of a plan and without the message of an error. Their number and the code remain, by which the workflow decides.
func withoutText(o *turnv1.StepOutcome) *turnv1.StepOutcome {
	if len(o.GetPlan())+len(o.GetModelAttempts()) == 0 && o.GetError().GetMessage() == "" && o.GetSurface().GetResumedPlan() == nil {
		return o
	}
	o = proto.CloneOf(o)
	clear(o.Plan)
	o.ModelAttempts = nil
	if o.Error != nil {
		o.Error.Message = ""
	}
	for _, s := range o.GetSurface().GetResumedPlan().GetSteps() {
		s.Title = ""
	}
	return o
}

// withText adds to a step what withoutText left out of the outcomes that the workflow decided by, from the journal.
func (a *Activities) withText(ctx context.Context, in contract.TurnInput, ref *turnv1.StepRef) (*turnv1.StepRef, error) {
	failed := ref.GetEnding().GetError()
	switch {
	case failed != nil && failed.GetMessage() == "":
	case hasBlankTitle(ref.GetPlan()):
	default:
		return ref, nil
	}
	now, err := a.steps.Outcomes(ctx, in)
	if err != nil {
		return nil, err
	}
	ref = proto.CloneOf(ref)
	if failed != nil {
		for _, o := range now.GetOutcomes() {
			if e := o.GetError(); e.GetCode() == failed.GetCode() && e.GetMessage() != "" {
				ref.Ending.Error = e
			}
		}
		return ref, nil
	}
	decision := engine.Next(engine.State{Outcomes: now.GetOutcomes(), Now: now.GetCurrentTime().AsTime()})
	for _, s := range decision.Steps {
		if s.GetKey() == ref.GetKey() {
			ref.Plan = s.GetPlan()
			return ref, nil
		}
	}
	return nil, step.ErrStale // the journal has more than the workflow knows
}

func hasBlankTitle(plan *turnv1.PlanRef) bool {
	for _, s := range plan.GetSteps() {
		if s.GetTitle() == "" {
			return true
		}
	}
	return false
}
