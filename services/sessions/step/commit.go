package step

import (
	"context"
	"errors"
	"time"

	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/faultpoint"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/sessions/journal"
	"github.com/windlass-dev/windlass/services/sessions/store"
	"github.com/windlass-dev/windlass/services/sessions/turn"
)

// Commit writes the outcome of a step, and what follows it, in one transaction. Committing a step again returns the stored outcome.
//
// Each message is told by one event: the message.completed of the commit whose message has the same ID, or the
// tool_call.completed whose result has the same call ID. A message without such an event gets one, after the given events. The
// message's seq is that of its event.
func (s *Service) Commit(ctx context.Context, c Commit) (*Committed, error) {
	if err := s.checkCommit(c); err != nil {
		return nil, err
	}
	var out *Committed
	write := func(optimistic bool) error {
		return s.deps.Journal.Write(ctx, func(tx *journal.Tx) error {
			t, err := tx.LockTurn(authn.Tenant(ctx), c.TurnID)
			if err != nil {
				return err
			}
			out, err = s.commitAll(tx, &t, c, optimistic)
			return err
		})
	}
	err := write(true) // what is claimed along with a commit is nearly always new
	if errors.Is(err, store.ErrNotNew) {
		err = write(false)
	}
	if err == nil {
		err = s.flush(c.Next, out.Next)
	}
	if err != nil {
		return nil, turn.Fault(err, c.TurnID)
	}
	if c.Ending != nil || out.Then != nil {
		faultpoint.Hit(faultpoint.TurnEnded)
		s.deps.Outbox.TriggerAfterEnd() // this turn's record, and another turn that waited for room
	}
	return out, nil
}

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
// done already, is held by another worker, or would end the turn before its newest input was read.
func (s *Service) claimAndCommit(tx *journal.Tx, t *store.Turn, c Commit, optimistic bool) (_ *Committed, written bool, err error) {
	var step store.Step
	late := stale(*t, c)
	if c.Claim == nil {
		if step, err = turn.HeldStep(tx, *t, c.Outcome.GetKey(), c.Fence); err != nil {
			return nil, false, err
		}
	}
	if late {
		out, err := refuseStale(tx, *t, step)
		return out, false, err
	}
	if c.Claim != nil {
		var claimed Claimed
		claimed, step, err = s.decideClaim(tx, t, *c.Claim, optimistic) // the commit saves it
		switch {
		case err != nil:
			return nil, false, err
		case claimed.Done != nil:
			return &Committed{Outcome: claimed.Done, Adopted: true}, false, nil
		case claimed.Busy != nil:
			return &Committed{Busy: claimed.Busy}, false, nil
		}
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

// refuseStale answers a finish step that was decided without knowing of newer input. The lease on it, if there is one, is given back.
func refuseStale(tx *journal.Tx, t store.Turn, held store.Step) (*Committed, error) {
	given, err := turn.Inputs(tx, t)
	out := &Committed{Stale: true, Inputs: given}
	if err != nil || held.Key == "" || held.Done {
		return out, err
	}
	held.Owner, held.LeaseExpires = "", time.Time{}
	return out, tx.SaveStep(tx.Context(), held)
}
