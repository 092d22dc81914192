package step

import (
	"github.com/windlass-dev/windlass/libs/fault"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/sessions/access"
	"github.com/windlass-dev/windlass/workflows/contract/stepkey"
)

// checkCommit refuses a commit whose parts do not fit together.
func (s *Service) checkCommit(c Commit) error {
	if key := c.Outcome.GetKey(); key == "" || !access.Storable(key) {
		return fault.Invalid("outcome.key", "names no step")
	}
	if err := checkWait(c); err != nil {
		return err
	}
	if err := s.checkClaimOf(c); err != nil {
		return err
	}
	for _, next := range c.Next {
		if next.TurnID != c.TurnID {
			return fault.Invalid("next.turn_id", "names another turn")
		}
		if err := s.checkClaim(next); err != nil {
			return err
		}
	}
	then := c.Then
	switch {
	case then == nil:
		return nil
	case then.TurnID != c.TurnID:
		return fault.Invalid("then.turn_id", "names another turn")
	case then.Ending == nil || then.Claim == nil || then.Then != nil || len(then.Next) > 0 || len(c.Next) > 0:
		return fault.Invalid("then", "must be a finish step with its claim, and the only thing that follows")
	}
	return s.checkClaimOf(*then)
}

func (s *Service) checkClaimOf(c Commit) error {
	if c.Claim == nil {
		return nil
	}
	if c.Claim.TurnID != c.TurnID || c.Claim.Step.GetKey() != c.Outcome.GetKey() {
		return fault.Invalid("claim", "is for another step")
	}
	return s.checkClaim(*c.Claim)
}

// maxQuorum bounds how many approvals one call may need.
const maxQuorum = 16

// checkWait refuses a wait that does not belong to the step that asks for it.
func checkWait(c Commit) error {
	switch w := c.Wait; {
	case w == nil:
		return nil
	case stepkey.Wait(c.Outcome.GetKey()) == "":
		return fault.Invalid("wait", "belongs to a tool step, and only to it")
	case len(c.Messages) > 0:
		return fault.Invalid("messages", "a step that waits has none")
	case w.GetExpiresIn().AsDuration() < 0:
		return fault.Invalid("wait.expires_in", "is negative")
	case w.GetQuorum() > maxQuorum:
		return fault.Invalid("wait.quorum", "is above %d", maxQuorum)
	}
	return nil
}

// maxStepKey bounds a step's key in bytes.
const maxStepKey = 64

func (s *Service) checkClaim(c Claim) error {
	switch key := c.Step.GetKey(); {
	case key == "" || len(key) > maxStepKey || !access.Storable(key):
		return fault.Invalid("step.key", "must have 1 to %d characters", maxStepKey)
	case !claimable(c.Step.GetKind()):
		return fault.Invalid("step.kind", "is not set")
	case c.TTL > s.deps.MaxLease:
		return fault.Invalid("ttl", "is longer than %s", s.deps.MaxLease)
	}
	return nil
}

// claimable reports whether a worker claims steps of a kind. The ends of waits and input are written by this service.
func claimable(kind turnv1.StepKind) bool {
	switch kind {
	case turnv1.StepKind_STEP_KIND_WAIT, turnv1.StepKind_STEP_KIND_STEER:
		return false
	}
	return stepkey.KindName(kind) != ""
}
