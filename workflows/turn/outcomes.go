package turn

import (
	"slices"

	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/workflows/contract"
	"github.com/windlass-dev/windlass/workflows/contract/stepkey"
	"github.com/windlass-dev/windlass/workflows/turn/engine"
)

// outcomes are those of a turn's steps that the workflow knows.
type outcomes []*turnv1.StepOutcome

func has(outcomes []*turnv1.StepOutcome, key string) bool {
	return slices.ContainsFunc(outcomes, func(o *turnv1.StepOutcome) bool { return o.GetKey() == key })
}

// newest is when the newest known step was committed, Unix microseconds; 0 when none is known.
func (all outcomes) newest() int64 {
	var newest int64
	for _, o := range all {
		newest = max(newest, o.GetCommittedMicros())
	}
	return newest
}

func (all outcomes) keys() []string {
	keys := make([]string, len(all))
	for i, o := range all {
		keys[i] = o.GetKey()
	}
	return keys
}

// waits returns the waits that have no answer yet.
func (all outcomes) waits() []*turnv1.WaitRef {
	var out []*turnv1.WaitRef
	for _, o := range all {
		if o.GetWait() != nil && !has(all, stepkey.Wait(o.GetKey())) {
			out = append(out, o.GetWait())
		}
	}
	return out
}

// waitTitle names a wait by what it was for and the tool that was called.
func (all outcomes) waitTitle(end *turnv1.StepOutcome) string {
	for _, o := range all {
		if o.GetWait() != nil && stepkey.Wait(o.GetKey()) == end.GetKey() {
			return waitNames[o.GetWait().GetKind()] + ", tool " + engine.ToolOf(all, o.GetKey())
		}
	}
	return end.GetKey()
}

// title returns the title that the activity of a step would have.
func (all outcomes) title(o *turnv1.StepOutcome) string {
	switch o.GetKind() {
	case turnv1.StepKind_STEP_KIND_INFER:
		return numbered(o, "infer #")
	case turnv1.StepKind_STEP_KIND_TOOL:
		return "tool " + engine.ToolOf(all, o.GetKey())
	case turnv1.StepKind_STEP_KIND_WAIT:
		return all.waitTitle(o)
	case turnv1.StepKind_STEP_KIND_STEER:
		return numbered(o, "input #")
	case turnv1.StepKind_STEP_KIND_COMPACT:
		return numbered(o, "compact before infer #")
	case turnv1.StepKind_STEP_KIND_SELECT:
		return "select strategy"
	case turnv1.StepKind_STEP_KIND_PLAN:
		if o.GetKey() != stepkey.Plan(1) {
			return "plan again"
		}
		return "plan"
	default:
		return o.GetKey()
	}
}

// result returns the end of the turn, as the finish step in the journal has it.
func (all outcomes) result() contract.TurnResult {
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
