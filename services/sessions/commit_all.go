package sessions

import (
	"github.com/windlass-dev/windlass/libs/fault"
	executionv1 "github.com/windlass-dev/windlass/proto/gen/windlass/execution/v1"
	"github.com/windlass-dev/windlass/services/sessions/access"
	"github.com/windlass-dev/windlass/services/sessions/journal"
	"github.com/windlass-dev/windlass/services/sessions/store"
)

// checkCommit refuses a commit whose parts do not fit together.
func (s *Service) checkCommit(req *executionv1.CommitStepRequest) error {
	if key := req.GetOutcome().GetKey(); key == "" || !access.Storable(key) {
		return fault.Invalid("outcome.key", "names no step")
	}
	if err := s.checkClaimOf(req); err != nil {
		return err
	}
	if err := checkWait(req); err != nil {
		return err
	}
	for _, next := range req.GetNext() {
		if next.GetTurnId() != req.GetTurnId() {
			return fault.Invalid("next.turn_id", "names another turn")
		}
		if err := s.checkClaim(next); err != nil {
			return err
		}
	}
	then := req.GetThen()
	switch {
	case then == nil:
		return nil
	case then.GetTurnId() != req.GetTurnId():
		return fault.Invalid("then.turn_id", "names another turn")
	case then.GetEnding() == nil || then.GetClaim() == nil || then.GetThen() != nil || len(then.GetNext()) > 0 || len(req.GetNext()) > 0:
		return fault.Invalid("then", "must be a finish step with its claim, and the only thing that follows")
	}
	return s.checkClaimOf(then)
}

func (s *Service) checkClaimOf(req *executionv1.CommitStepRequest) error {
	first := req.GetClaim()
	if first == nil {
		return nil
	}
	if first.GetTurnId() != req.GetTurnId() || first.GetStep().GetKey() != req.GetOutcome().GetKey() {
		return fault.Invalid("claim", "is for another step")
	}
	return s.checkClaim(first)
}

// commitAll writes a step and what is asked for around it. The turn's session is locked. With optimistic the steps that follow are assumed to
// be new.
func (s *Service) commitAll(tx *journal.Tx, t *store.Turn, req *executionv1.CommitStepRequest, optimistic bool) (*executionv1.CommitStepResponse, error) {
	out, written, err := s.claimAndCommit(tx, t, req, false)
	if err != nil || !written || t.CancelRequested || ended(*t) || out.GetOutcome().GetExhausted() != nil { // then it ends otherwise than the caller thought
		return out, err
	}
	for _, next := range req.GetNext() {
		got, err := s.claim(tx, t, next, optimistic)
		if err != nil {
			return nil, err
		}
		out.Next = append(out.Next, got)
	}
	if req.GetThen() != nil && !stale(*t, req.GetThen()) {
		out.Then, _, err = s.claimAndCommit(tx, t, req.GetThen(), optimistic)
	}
	return out, err
}

// claimAndCommit writes a step, and claims it before if the request says so. It tells whether it has written it: not if it was done already,
// is held by somebody, or would end the turn before its newest input was read.
func (s *Service) claimAndCommit(
	tx *journal.Tx, t *store.Turn, req *executionv1.CommitStepRequest, optimistic bool,
) (_ *executionv1.CommitStepResponse, written bool, _ error) {
	if stale(*t, req) {
		out, err := refuseStale(tx, *t, req)
		return out, false, err
	}
	var step store.Step
	var err error
	if req.GetClaim() == nil {
		step, err = heldStep(tx, *t, req.GetOutcome().GetKey(), req.GetFence())
	} else {
		var claimed *executionv1.ClaimStepResponse
		claimed, step, err = s.decideClaim(tx, t, req.GetClaim(), optimistic) // the commit saves it
		switch {
		case err != nil:
		case claimed.GetDone() != nil:
			return &executionv1.CommitStepResponse{Outcome: claimed.GetDone(), Adopted: true}, false, nil
		case claimed.GetBusy() != nil:
			return &executionv1.CommitStepResponse{Busy: claimed.GetBusy()}, false, nil
		}
	}
	if err != nil {
		return nil, false, err
	}
	if step.Done {
		outcome, err := outcomeOf(step)
		if err != nil {
			return nil, false, err
		}
		given, err := inputs(tx, *t)
		return &executionv1.CommitStepResponse{Outcome: outcome, Inputs: given}, false, err
	}
	out, err := s.commit(tx, t, step, req)
	return out, err == nil, err
}
