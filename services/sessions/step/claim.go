package step

import (
	"context"
	"errors"
	"time"

	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/enum"
	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/ids"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/sessions/access"
	"github.com/windlass-dev/windlass/services/sessions/journal"
	"github.com/windlass-dev/windlass/services/sessions/store"
	"github.com/windlass-dev/windlass/services/sessions/turn"
	"github.com/windlass-dev/windlass/workflows/contract/stepkey"
)

// claimable reports whether a worker claims steps of a kind. The ends of waits and input are written by this service.
func claimable(kind turnv1.StepKind) bool {
	switch kind {
	case turnv1.StepKind_STEP_KIND_WAIT, turnv1.StepKind_STEP_KIND_STEER:
		return false
	}
	return stepkey.KindName(kind) != ""
}

// askBudgetAgain is after what time a step that waits for a budget is best claimed again at first.
const askBudgetAgain = 50 * time.Millisecond

// maxStepKey bounds a step's key in bytes.
const maxStepKey = 64

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
	if err == nil && sendsOnce(c, out) {
		err = s.deps.Store.Flush()
	}
	return out, turn.Fault(err, c.TurnID)
}

// anySendsOnce is sendsOnce for claims of which the last may not have been tried.
func anySendsOnce(all []Claim, got []Claimed) bool {
	for i := range got {
		if sendsOnce(all[i], got[i]) {
			return true
		}
	}
	return false
}

// sendsOnce reports whether a claim may let a call leave that must not be repeated. What the call rests on has to be on disk by then: the
// turn, the key of the request that began it, and the steps that led to the call. Else a power failure takes them, and the request that is
// sent again makes the call again. Of later rounds of a call the claim does not tell the effect.
func sendsOnce(c Claim, got Claimed) bool {
	if got.Lease == nil || c.Step.GetKind() != turnv1.StepKind_STEP_KIND_TOOL {
		return false
	}
	switch c.ToolCall.GetEffect() {
	case turnv1.EffectClass_EFFECT_CLASS_READ, turnv1.EffectClass_EFFECT_CLASS_IDEMPOTENT:
		return false
	}
	return true
}

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
	case optimistic && (got.Exhausted != nil || got.WaitsFor != ""):
		return out, step, store.ErrNotNew
	case got.Exhausted != nil:
		out.Done, err = exhaust(tx, *t, c, got.Exhausted)
		return out, step, err
	case got.WaitsFor != "":
		out.Busy = &Busy{BudgetID: got.WaitsFor, ExpiresIn: askBudgetAgain}
		return out, step, nil
	}
	if out.Lease, err = takeLease(tx, t, &step, c, got.Warnings); err != nil {
		return out, step, err
	}
	step.Optimistic, out.Lease.MaxOutputTokens = optimistic, int32(got.MaxOutput)
	return out, step, nil
}

func busy(step store.Step, now time.Time) *Busy {
	left := step.LeaseExpires.Sub(now)
	return &Busy{Owner: step.Owner, ExpiresIn: left.Truncate(time.Millisecond) + time.Millisecond}
}

// takeLease leases the step to the caller, who has to save it. The step is the zero value if nobody claimed it before.
func takeLease(tx *journal.Tx, t *store.Turn, step *store.Step, c Claim, warnings []*turnv1.BudgetWarning) (*Lease, error) {
	previous := step.Owner
	countLost(t, *step)
	if step.Fence == 0 {
		*step = store.Step{
			Tenant: t.Tenant, TurnID: t.ID, Key: c.Step.GetKey(), Kind: c.Step.GetKind(), FirstSeq: tx.Session.LastSeq + 1,
		}
		switch c.Step.GetKind() {
		case turnv1.StepKind_STEP_KIND_INFER:
			step.MessageID = ids.New(ids.Message)
		case turnv1.StepKind_STEP_KIND_TOOL:
			step.Tool = c.ToolCall.GetTool()
			if step.Tool == "" {
				step.Tool = c.Step.GetCall().GetTool()
			}
		}
	}
	step.Fence, step.Attempt = step.Fence+1, step.Attempt+1
	step.Owner, step.StartTime = c.Owner, tx.Now()
	step.LeaseExpires = tx.Now().Add(c.TTL)
	events := claimEvents(*step, previous, c)
	for _, w := range warnings {
		events = append(events, &turnv1.Event{Data: &turnv1.Event_BudgetWarning{BudgetWarning: w}})
	}
	for _, e := range events {
		if _, err := tx.Append(journal.OfStep(*t, *step), e); err != nil {
			return nil, err
		}
	}
	changed := previous != ""
	if t.Status == turnv1.TurnStatus_TURN_STATUS_QUEUED {
		t.Status, t.StartTime = turnv1.TurnStatus_TURN_STATUS_RUNNING, tx.Now()
		changed = true
	}
	if changed {
		tx.KeepTurn(t)
	}
	return &Lease{
		Fence: step.Fence, Attempt: step.Attempt, BaseSeq: tx.Session.LastSeq, MessageID: step.MessageID, ProviderData: t.ProviderData,
	}, nil
}
