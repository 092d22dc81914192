package step

import (
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
)

// flush puts on disk what a call that must not be repeated rests on, before a claim lets it leave: the turn, the key of the request that
// began it, and the steps that led to the call. Else a power failure takes them, and the request that is sent again makes the call again.
// The last of the claims may not have been tried.
func (s *Service) flush(claims []Claim, got []Claimed) error {
	for i := range got {
		if got[i].Lease != nil && claims[i].sendsOnce() {
			return s.deps.Store.Flush()
		}
	}
	return nil
}

// sendsOnce reports whether the step may make a call that must not be repeated. Of later rounds of a call the claim does not have the
// effect.
func (c Claim) sendsOnce() bool {
	if c.Step.GetKind() != turnv1.StepKind_STEP_KIND_TOOL {
		return false
	}
	switch c.ToolCall.GetEffect() {
	case turnv1.EffectClass_EFFECT_CLASS_READ, turnv1.EffectClass_EFFECT_CLASS_IDEMPOTENT:
		return false
	}
	return true
}
