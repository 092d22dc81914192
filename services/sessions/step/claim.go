package step

import (
	"context"
	"errors"
	"time"

	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/enum"
	"github.com/windlass-dev/windlass/libs/fault"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	"github.com/windlass-dev/windlass/services/sessions/journal"
	"github.com/windlass-dev/windlass/services/sessions/store"
	"github.com/windlass-dev/windlass/services/sessions/turn"
)

// askBudgetAgain is after what time a step that waits for a budget is best claimed again at first.
const askBudgetAgain = 50 * time.Millisecond

// Claim claims a step.
func (s *Service) Claim(ctx context.Context, c Claim) (Claimed, error) {
	if err := s.checkClaim(c); err != nil {
		return Claimed{}, err
	}
	var out Claimed
	err := s.deps.Journal.Write(ctx, func(tx *journal.Tx) error {
		t, err := tx.LockTurn(authn.Tenant(ctx), c.TurnID)
		if err != nil {
			return err
		}
		out, err = s.claim(tx, &t, c, false)
		return err
	})
	if err == nil {
		err = s.flush([]Claim{c}, []Claimed{out})
	}
	return out, turn.Fault(err, c.TurnID)
}

// claim answers a claim for a step of a turn whose session is locked.
func (s *Service) claim(tx *journal.Tx, t *store.Turn, c Claim, optimistic bool) (Claimed, error) {
	out, step, err := s.decideClaim(tx, t, c, optimistic)
	if err != nil || out.Lease == nil {
		return out, err
	}
	return out, tx.SaveStep(tx.Context(), step)
}

// decideClaim is claim without saving the step, which is the caller's part. With optimistic the step is assumed to be new; saving
// it checks that, see store.ErrNotNew.
func (s *Service) decideClaim(tx *journal.Tx, t *store.Turn, c Claim, optimistic bool) (Claimed, store.Step, error) {
	out := Claimed{CancelRequested: t.CancelRequested}
	step, err := store.Step{}, store.ErrNotFound
	if optimistic && (t.Ended() || tx.Session.ActiveTurnID != t.ID) {
		return out, step, store.ErrNotNew
	}
	if !optimistic {
		step, err = tx.Step(tx.Context(), t.Tenant, t.ID, c.Step.GetKey())
	}
	switch fresh := errors.Is(err, store.ErrNotFound); {
	case err != nil && !fresh:
		return out, step, err
	case step.Done:
		out.Done, err = step.StepOutcome()
		return out, step, err
	case t.Ended():
		return out, step, fault.FailedPrecondition(faultv1.Reason_REASON_TURN_ENDED, "turn %s is %s", t.ID, enum.Name(t.Status))
	case tx.Session.ActiveTurnID != t.ID:
		return out, step, fault.FailedPrecondition(faultv1.Reason_REASON_FAILED_PRECONDITION, "turn %s waits for turn %s", t.ID,
			tx.Session.ActiveTurnID)
	case step.LeaseExpires.After(tx.Now()): // held, or backing off
		out.Busy = busy(step, tx.Now())
		return out, step, nil
	}
	got, err := s.deps.Budgets.Reserve(tx, *t, step, c.Step)
	switch {
	case err != nil:
		return out, step, err
	case optimistic && (got.Exhausted != nil || got.WaitsFor != "" || got.Refused != nil):
		return out, step, store.ErrNotNew
	case got.Exhausted != nil:
		s.meter.overBudget(tx, got)
		out.Done, err = exhaust(tx, *t, c, got.Exhausted)
		return out, step, err
	case got.Refused != nil:
		s.meter.overBudget(tx, got)
		out.Done, err = refuse(tx, *t, c, got.Refused)
		return out, step, err
	case got.WaitsFor != "":
		out.Busy = &Busy{BudgetID: got.WaitsFor, ExpiresIn: askBudgetAgain}
		return out, step, nil
	}
	s.meter.claimed(tx, step, c)
	if out.Lease, err = takeLease(tx, t, &step, c, got.Warnings); err != nil {
		return out, step, err
	}
	step.Optimistic, out.Lease.MaxOutputTokens = optimistic, int32(got.MaxOutput)
	return out, step, nil
}
