package step

import (
	"time"

	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/sessions/journal"
	"github.com/windlass-dev/windlass/services/sessions/store"
	"github.com/windlass-dev/windlass/services/sessions/turn"
)

// commitAll writes a step and what is asked for around it. The turn's session is locked. With optimistic the steps that follow
// are assumed to be new.
func (s *Service) commitAll(tx *journal.Tx, t *store.Turn, c Commit, optimistic bool) (*Committed, error) {
	out, written, err := s.claimAndCommit(tx, t, c, false)
	// then it ends otherwise than the caller thought
	if err != nil || !written || t.CancelRequested || t.Ended() || out.Outcome.GetExhausted() != nil {
		return out, err
	}
	for _, next := range c.Next {
		got, err := s.claim(tx, t, next, optimistic)
		if err != nil {
			return nil, err
		}
		out.Next = append(out.Next, got)
	}
	if c.Then != nil && !stale(*t, *c.Then) {
		out.Then, _, err = s.claimAndCommit(tx, t, *c.Then, optimistic)
	}
	return out, err
}

// claimAndCommit writes a step, and claims it before if the request says so. It reports whether it has written it: not if it was
// done already, is held by somebody, or would end the turn before its newest input was read.
func (s *Service) claimAndCommit(tx *journal.Tx, t *store.Turn, c Commit, optimistic bool) (_ *Committed, written bool, _ error) {
	if stale(*t, c) {
		out, err := refuseStale(tx, *t, c)
		return out, false, err
	}
	var step store.Step
	var err error
	if c.Claim == nil {
		step, err = turn.HeldStep(tx, *t, c.Outcome.GetKey(), c.Fence)
	} else {
		var claimed Claimed
		claimed, step, err = s.decideClaim(tx, t, *c.Claim, optimistic) // the commit saves it
		switch {
		case err != nil:
		case claimed.Done != nil:
			return &Committed{Outcome: claimed.Done, Adopted: true}, false, nil
		case claimed.Busy != nil:
			return &Committed{Busy: claimed.Busy}, false, nil
		}
	}
	if err != nil {
		return nil, false, err
	}
	if step.Done {
		out, err := s.adopt(tx, *t, step)
		return out, false, err
	}
	out, err := s.commit(tx, t, step, c)
	return out, err == nil, err
}

// adopt returns what a step that is done has come to.
func (s *Service) adopt(tx *journal.Tx, t store.Turn, step store.Step) (*Committed, error) {
	outcome, err := step.StepOutcome()
	if err != nil {
		return nil, err
	}
	given, err := turn.Inputs(tx, t)
	return &Committed{Outcome: outcome, Inputs: given}, err
}

// stale reports whether a commit would end a turn with an answer that was written before all input was read.
func stale(t store.Turn, c Commit) bool {
	end := c.Ending
	return end.GetStatus() == turnv1.TurnStatus_TURN_STATUS_COMPLETED && end.GetStopReason() == turn.StopEnd &&
		c.Inputs < t.Inputs && !t.CancelRequested && !t.Ended()
}

// refuseStale answers a finish step that was decided without knowing of newer input. A lease on it is given back.
func refuseStale(tx *journal.Tx, t store.Turn, c Commit) (*Committed, error) {
	out := &Committed{Stale: true}
	var err error
	if out.Inputs, err = turn.Inputs(tx, t); err != nil || c.Claim != nil {
		return out, err
	}
	step, err := turn.HeldStep(tx, t, c.Outcome.GetKey(), c.Fence)
	if err != nil || step.Done {
		return out, err
	}
	step.Owner, step.LeaseExpires = "", time.Time{}
	return out, tx.SaveStep(tx.Context(), step)
}
