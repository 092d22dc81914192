package engine

import (
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
)

// ending returns how the turn ends now, nil if it continues. The order matters: a cancel takes precedence over all else, and a complete
// answer counts even if a limit was reached with it.
func (t record) ending(s State) *turnv1.Ending {
	switch {
	case s.Cancelled || t.cancelled():
		return &turnv1.Ending{Status: turnv1.TurnStatus_TURN_STATUS_CANCELLED, StopReason: StopCancelled}
	case s.Failure != nil:
		return t.failed(s.Failure)
	case t.begin.GetError() != nil:
		return t.failed(t.begin.GetError())
	case t.begin == nil:
		return nil
	case t.begin.GetFinishReason() == StopContentFilter: // a shield blocks what the user said
		return completed(StopContentFilter)
	}
	if e := t.preparationError(); e != nil {
		return t.failed(e)
	}
	if ending := t.exhausted(); ending != nil {
		return ending
	}
	if ending := t.answered(); ending != nil {
		return ending
	}
	if (clock{t}).deadlinePassed(s.Now) {
		return t.outOfTime()
	}
	if limit := int(t.surface().GetMaxIdenticalCalls()); limit > 0 && t.repeats() > limit {
		return limited(StopRepetition, "max_identical_calls", int64(limit))
	}
	return nil
}

// answered returns how the newest model step ends the turn, nil if it does not. The tools of a step that reached a limit are not run.
func (t record) answered() *turnv1.Ending {
	last := t.last()
	surface := t.surface()
	switch {
	case last == nil:
		return nil
	case t.refused():
		return nil
	case last.GetError() != nil:
		return t.failed(last.GetError())
	case last.GetFinishReason() == "length":
		return limited(StopMaxTokens, "max_output_tokens", int64(surface.GetMaxOutputTokens()))
	case last.GetFinishReason() == "content_filter":
		return completed(StopContentFilter)
	case t.complete() && t.inputRead():
		return completed(StopEnd)
	case t.asked() >= max(int(surface.GetMaxSteps()), 1):
		return limited(StopMaxSteps, "max_steps", max(int64(surface.GetMaxSteps()), 1))
	case surface.GetMaxTokens() > 0 && t.tokens() >= int64(surface.GetMaxTokens()):
		return limited(StopMaxTokens, "max_tokens", int64(surface.GetMaxTokens()))
	}
	return nil
}

func (t record) cancelled() bool {
	for _, o := range t.all {
		if o.GetCancelled() {
			return true
		}
	}
	return false
}

// failed ends a turn with an error; an exceeded deadline is a limit rather than a failure.
func (t record) failed(e *turnv1.TurnError) *turnv1.Ending {
	if e.GetCode() == CodeDeadline {
		return t.outOfTime()
	}
	return &turnv1.Ending{Status: turnv1.TurnStatus_TURN_STATUS_FAILED, StopReason: StopError, Error: e}
}

func completed(reason string) *turnv1.Ending {
	return &turnv1.Ending{Status: turnv1.TurnStatus_TURN_STATUS_COMPLETED, StopReason: reason}
}
