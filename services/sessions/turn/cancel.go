package turn

import (
	"context"
	"errors"

	"github.com/windlass-dev/windlass/libs/enum"
	"github.com/windlass-dev/windlass/libs/fault"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/sessions/access"
	"github.com/windlass-dev/windlass/services/sessions/journal"
	"github.com/windlass-dev/windlass/services/sessions/store"
)

// Cancel requests the cancellation of a turn. The journal has the request when it returns; notifying the workflow only makes it
// fast. A turn that no worker has taken yet ends at once.
func (s *Service) Cancel(ctx context.Context, seen store.Turn, reason string) error {
	var notify bool
	err := s.deps.Journal.Write(ctx, func(tx *journal.Tx) error {
		notify = false
		t, err := tx.LockTurn(seen.Tenant, seen.ID)
		if err != nil {
			return err
		}
		if t.Ended() {
			return fault.FailedPrecondition(faultv1.Reason_REASON_TURN_ENDED, "turn %s is %s already", t.ID, enum.Name(t.Status))
		}
		if t.CancelRequested {
			return nil
		}
		untaken, err := recordCancel(tx, &t, reason)
		if err != nil {
			return err
		}
		notify = !untaken
		return s.applyCancel(tx, t, untaken)
	})
	if errors.Is(err, store.ErrNotFound) {
		err = access.NoTurn(seen.ID)
	}
	if err != nil {
		return err
	}
	if notify {
		s.deps.Waker.Outbox.Cancel(seen.ID)
	} else {
		s.deps.Waker.Outbox.Trigger() // a turn behind it may be next
	}
	return nil
}

// recordCancel records the request and reports whether no worker has taken the turn yet; applyCancel must follow.
func recordCancel(tx *journal.Tx, t *store.Turn, reason string) (untaken bool, err error) {
	t.CancelRequested = true
	if _, err := tx.Append(journal.OfTurn(*t), &turnv1.Event{Data: &turnv1.Event_TurnCancelRequested{
		TurnCancelRequested: &turnv1.TurnCancelRequested{Reason: reason},
	}}); err != nil {
		return false, err
	}
	if t.Status != turnv1.TurnStatus_TURN_STATUS_QUEUED {
		return false, nil
	}
	if tx.Session.ActiveTurnID != t.ID {
		return true, nil
	}
	return tx.WithdrawOutgoing(tx.Context(), t.Tenant, t.ID)
}

// applyCancel saves the request and ends the turn's waits, or ends a turn that no worker has taken.
func (s *Service) applyCancel(tx *journal.Tx, t store.Turn, untaken bool) error {
	if !untaken {
		if err := s.deps.Waits.Cancel(tx, &t); err != nil {
			return err
		}
		return tx.SaveTurn(tx.Context(), t)
	}
	_, err := s.End(tx, &t, &turnv1.Ending{Status: turnv1.TurnStatus_TURN_STATUS_CANCELLED, StopReason: "cancelled"})
	return err
}
