package engine

import (
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
)

// ending says how the turn ends now, nil when it goes on. The order matters: a cancel goes before all, and an answer that is whole
// is an answer even when a limit was reached with it.
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
	if t.deadlinePassed(s) {
		return t.outOfTime()
	}
	if limit := int(t.surface().GetMaxIdenticalCalls()); limit > 0 && t.repeats() > limit {
		return limited(StopRepetition, "max_identical_calls", int64(limit))
	}
	return nil
}

// answered says how the newest model step ends the turn. The tools of a step that reached a limit are not run.
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
	case t.whole() && t.heard():
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

// deadlinePassed reports whether the turn's time is up, by the clock or because a tool was cut off by it. It does not run while somebody is
// waited for.
func (t record) deadlinePassed(s State) bool {
	if at := t.deadline(); at > 0 && s.Now.UnixMicro() >= at && !t.resting() {
		return true
	}
	for _, o := range t.all {
		if o.GetError().GetCode() == CodeDeadline {
			return true
		}
	}
	return false
}

// failed ends a turn by an error; a deadline is no failure but a limit.
func (t record) failed(e *turnv1.TurnError) *turnv1.Ending {
	if e.GetCode() == CodeDeadline {
		return t.outOfTime()
	}
	return &turnv1.Ending{Status: turnv1.TurnStatus_TURN_STATUS_FAILED, StopReason: StopError, Error: e}
}

func completed(reason string) *turnv1.Ending {
	return &turnv1.Ending{Status: turnv1.TurnStatus_TURN_STATUS_COMPLETED, StopReason: reason}
}
