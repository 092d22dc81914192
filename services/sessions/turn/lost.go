package turn

import (
	"context"
	"errors"
	"time"

	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/sessions/journal"
	"github.com/windlass-dev/windlass/services/sessions/outbox"
	"github.com/windlass-dev/windlass/services/sessions/store"
	"github.com/windlass-dev/windlass/services/sessions/sweep"
)

const (
	// checkAgain is the pause before the next check of a turn the state of whose workflow could not be read.
	checkAgain = 5 * time.Second
	// engineTimeout bounds one call of the workflow engine.
	engineTimeout = 10 * time.Second
)

// Engine runs the workflows of turns.
type Engine interface {
	// State returns what became of a turn's workflow. An error says that it cannot be known now.
	State(ctx context.Context, turnID string) (outbox.WorkflowState, error)
}

// SweepLost checks the workflows of turns on which nothing was done for a while.
func (s *Service) SweepLost(ctx context.Context) error {
	return sweep.Due(ctx, sweep.ByNow(s.deps.Store, s.deps.Store.Stale), s.checkLost)
}

// checkLost checks the workflow of one turn. If its state cannot be read it is checked again later.
func (s *Service) checkLost(ctx context.Context, t store.Turn) error {
	asking, cancel := context.WithTimeout(ctx, engineTimeout)
	state, cause := s.deps.Engine.State(asking, t.ID)
	cancel()
	away := cause != nil
	if !away {
		cause = s.recoverLost(ctx, t, state != outbox.WorkflowOpen)
	}
	if cause == nil || ctx.Err() != nil {
		return cause
	}
	s.deps.Log.DebugContext(ctx, "state of a turn is not known", "turn_id", t.ID, "error", cause)
	err := s.deps.Store.Write(ctx, func(tx *store.Tx) error {
		return tx.SetCheck(ctx, t.Tenant, t.ID, s.deps.Store.Now().Add(checkAgain), t.Restarts)
	})
	if away && err == nil {
		return sweep.ErrStop
	}
	if errors.Is(err, store.ErrNotFound) {
		return nil // it was deleted just now
	}
	return err
}

// recoverLost starts the workflow of a lost turn again, or ends the turn when that was done too often. A turn that is not lost is
// checked again later.
func (s *Service) recoverLost(ctx context.Context, seen store.Turn, lost bool) error {
	later := s.deps.Store.Now().Add(s.cfg.LostAfter)
	if !lost {
		return s.deps.Store.Write(ctx, func(tx *store.Tx) error { return tx.SetCheck(ctx, seen.Tenant, seen.ID, later, seen.Restarts) })
	}
	err := s.deps.Journal.Write(ctx, func(tx *journal.Tx) error {
		t, err := tx.LockTurn(seen.Tenant, seen.ID)
		if err != nil || t.Ended() || !t.CheckTime.Equal(seen.CheckTime) { // another replica was faster
			return err
		}
		if int(t.Restarts) >= s.cfg.MaxRestarts {
			_, err := s.End(tx, &t, lostEnding(t))
			return err
		}
		if err := tx.SetCheck(ctx, t.Tenant, t.ID, later, t.Restarts+1); err != nil {
			return err
		}
		return s.send(tx, t, true)
	})
	if err != nil {
		return err
	}
	s.lost.Add(ctx, 1)
	s.deps.Log.WarnContext(ctx, "workflow of a turn was lost", "turn_id", seen.ID, "restarts", seen.Restarts)
	s.deps.Waker.Outbox.Trigger()
	return nil
}

func lostEnding(t store.Turn) *turnv1.Ending {
	if t.CancelRequested {
		return &turnv1.Ending{Status: turnv1.TurnStatus_TURN_STATUS_CANCELLED, StopReason: "cancelled"}
	}
	return &turnv1.Ending{Status: turnv1.TurnStatus_TURN_STATUS_FAILED, StopReason: "error", Error: &turnv1.TurnError{
		Code: "internal", Message: "The turn's workflow was lost again and again. Look at it in Temporal, and send the input once more.",
	}}
}
