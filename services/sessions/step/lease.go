package step

import (
	"context"
	"fmt"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/ids"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/sessions/journal"
	"github.com/windlass-dev/windlass/services/sessions/store"
	"github.com/windlass-dev/windlass/services/sessions/turn"
)

// Held names a step that a worker holds.
type Held struct {
	TurnID, Step string
	Fence        uint32
}

// takeLease leases the step to the caller, who has to save it. The step is the zero value if it was never claimed.
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
	var made []*turnv1.ModelAttempt
	if len(step.Outcome) > 0 {
		reported, err := step.StepOutcome()
		if err != nil {
			return nil, err
		}
		made = reported.GetModelAttempts()
	}
	events := claimEvents(*step, previous, c, made)
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
		ModelAttempts: made,
	}, nil
}

// Renew extends a lease and reports whether cancellation of the turn was requested.
func (s *Service) Renew(ctx context.Context, h Held, ttl time.Duration) (cancelRequested bool, err error) {
	tenant := authn.Tenant(ctx)
	var held bool
	err = s.deps.Store.Write(ctx, func(tx *store.Tx) (err error) {
		until := s.deps.Store.Now().Add(min(ttl, s.deps.MaxLease))
		held, err = tx.RenewStep(ctx, tenant, h.TurnID, h.Step, h.Fence, until)
		return err
	})
	if err != nil {
		return false, err
	}
	t, err := s.deps.Store.Turn(ctx, tenant, h.TurnID)
	if err != nil {
		return false, turn.Fault(err, h.TurnID)
	}
	if !held {
		return false, turn.LeaseLost(t.ID, h.Step)
	}
	return t.CancelRequested, nil
}

// Append writes events while a step runs and returns the seq of the last one.
func (s *Service) Append(ctx context.Context, h Held, events []*turnv1.Event) (lastSeq uint32, err error) {
	err = s.deps.Journal.Write(ctx, func(tx *journal.Tx) error {
		t, err := tx.LockTurn(authn.Tenant(ctx), h.TurnID)
		if err != nil {
			return err
		}
		step, err := turn.HeldStep(tx, t, h.Step, h.Fence)
		if err != nil {
			return err
		}
		if step.Done {
			return turn.LeaseLost(t.ID, step.Key)
		}
		for _, e := range events {
			if _, err := writeEvent(tx, t, step, e, nil); err != nil {
				return err
			}
		}
		lastSeq = tx.Session.LastSeq
		return nil
	})
	return lastSeq, turn.Fault(err, h.TurnID)
}

// Release returns a lease, so that the next worker does not have to wait for it to expire. The step can be claimed again after
// the backoff. A step that is done stays so. made are all attempts of the step's model calls so far, which the next lease has.
func (s *Service) Release(ctx context.Context, h Held, after time.Duration, made []*turnv1.ModelAttempt) error {
	err := s.deps.Journal.Write(ctx, func(tx *journal.Tx) error {
		t, err := tx.LockTurn(authn.Tenant(ctx), h.TurnID)
		if err != nil {
			return err
		}
		step, err := turn.HeldStep(tx, t, h.Step, h.Fence)
		if err != nil || step.Done {
			return err
		}
		step.Owner, step.LeaseExpires = "", time.Time{}
		if len(made) > 0 {
			if step.Outcome, err = proto.Marshal(&turnv1.StepOutcome{ModelAttempts: made}); err != nil {
				return fmt.Errorf("attempts of step %s: %w", step.Key, err)
			}
		}
		if after > 0 {
			step.LeaseExpires = tx.Now().Add(after)
		}
		return tx.SaveStep(ctx, step)
	})
	return turn.Fault(err, h.TurnID)
}

// Outcomes are the results of a turn's steps.
type Outcomes struct {
	// Done are in the order in which the steps were first claimed.
	Done []*turnv1.StepOutcome
	// Held are the others that cannot be claimed now, by key.
	Held map[string]*Busy
	// Ended: the turn has ended.
	Ended bool
}

// Outcomes returns the outcomes of the steps of a turn that are done, and who holds the others.
func (s *Service) Outcomes(ctx context.Context, turnID string) (Outcomes, error) {
	t, err := s.deps.Store.Turn(ctx, authn.Tenant(ctx), turnID) // before the steps, so that an ended turn shows all of them
	if err != nil {
		return Outcomes{}, turn.Fault(err, turnID)
	}
	return s.outcomes(ctx, t)
}

func (s *Service) outcomes(ctx context.Context, t store.Turn) (Outcomes, error) {
	steps, err := s.deps.Store.Steps(ctx, t.Tenant, t.ID)
	if err != nil {
		return Outcomes{}, err
	}
	out := Outcomes{Held: map[string]*Busy{}, Ended: t.Ended()}
	now := s.deps.Store.Now()
	for _, step := range steps {
		switch {
		case step.Done:
			outcome, err := step.StepOutcome()
			if err != nil {
				return Outcomes{}, err
			}
			out.Done = append(out.Done, outcome)
		case step.LeaseExpires.After(now):
			out.Held[step.Key] = busy(step, now)
		}
	}
	return out, nil
}

func busy(step store.Step, now time.Time) *Busy {
	left := step.LeaseExpires.Sub(now)
	return &Busy{Owner: step.Owner, ExpiresIn: left.Truncate(time.Millisecond) + time.Millisecond}
}
