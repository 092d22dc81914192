package stepview

import (
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/workflows/contract"
	"github.com/windlass-dev/windlass/workflows/contract/stepkey"
)

// maxLines bounds the lines of a turn that is over, which travel in the input of its workflow.
const maxLines = 500

// Ended returns how a turn ended and its steps, nil if its finish step is not among the outcomes.
func (all Outcomes) Ended() *contract.Ended {
	if !all.Has(stepkey.Finish) {
		return nil
	}
	return &contract.Ended{TurnResult: all.Result(), Steps: all.Lines(maxLines)}
}

// Result returns the end of the turn, as the finish step in the journal has it.
func (all Outcomes) Result() contract.TurnResult {
	var r contract.TurnResult
	for _, o := range all {
		switch o.GetKind() {
		case turnv1.StepKind_STEP_KIND_INFER:
			r.ModelCalls++
		case turnv1.StepKind_STEP_KIND_SELECT, turnv1.StepKind_STEP_KIND_PLAN, turnv1.StepKind_STEP_KIND_COMPACT:
			r.ModelCalls += int(o.GetUsage().GetModelCalls())
		case turnv1.StepKind_STEP_KIND_TOOL:
			if o.GetWait() == nil {
				r.ToolCalls++
			}
		case turnv1.StepKind_STEP_KIND_FINISH:
			r.Status, r.StopReason, r.ErrorCode = statusOf(o), o.GetFinishReason(), o.GetError().GetCode()
		}
	}
	return r
}

func statusOf(finish *turnv1.StepOutcome) string {
	switch {
	case finish.GetCancelled():
		return contract.StatusCancelled
	case finish.GetError() != nil:
		return contract.StatusFailed
	default:
		return contract.StatusCompleted
	}
}
