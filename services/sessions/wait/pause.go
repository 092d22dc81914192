package wait

import (
	"context"
	"errors"
	"time"

	"github.com/windlass-dev/windlass/libs/sqldb"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/sessions/journal"
	"github.com/windlass-dev/windlass/services/sessions/store"
	"github.com/windlass-dev/windlass/workflows/contract/stepkey"
)

// pause stops the time of a turn, which waits for people from then on.
func (s *Service) pause(tx *journal.Tx, t *store.Turn, since time.Time, e *turnv1.TurnPaused) error {
	t.PausedSince, t.Status = since, turnv1.TurnStatus_TURN_STATUS_WAITING
	s.notifyParent(tx, *t)
	_, err := tx.Append(journal.OfTurn(*t), &turnv1.Event{Data: &turnv1.Event_TurnPaused{TurnPaused: e}})
	return err
}

// resume lets the turn's time run again. Its deadline is later by as long as it waited for people.
func (s *Service) resume(tx *journal.Tx, t *store.Turn) error {
	paused := max(tx.Now().Sub(t.PausedSince), 0)
	t.PausedSince, t.Status = time.Time{}, turnv1.TurnStatus_TURN_STATUS_RUNNING
	if !t.Deadline.IsZero() {
		t.Deadline = t.Deadline.Add(paused)
	}
	s.notifyParent(tx, *t)
	_, err := tx.Append(journal.OfTurn(*t),
		&turnv1.Event{Data: &turnv1.Event_TurnResumed{TurnResumed: &turnv1.TurnResumed{PausedMs: paused.Milliseconds()}}})
	return err
}

// notifyParent has the time of a parent follow that of its sub-agent once the change is committed: no transaction locks two sessions. What
// is lost here is found when the parent's time is up, and when the sub-agent ends.
func (s *Service) notifyParent(tx *journal.Tx, child store.Turn) {
	if child.AgentPath == "" {
		return
	}
	tx.After(func(ctx context.Context) {
		if err := s.syncParent(ctx, child); err != nil {
			s.deps.Log.WarnContext(ctx, "a turn does not follow the pause of its sub-agent yet", "turn_id", child.ID, "error", err)
		}
	})
}

func (s *Service) syncParent(ctx context.Context, child store.Turn) error {
	c, err := s.deps.Store.Child(ctx, child.Tenant, child.ID)
	if err != nil || c.Background {
		return err
	}
	err = s.deps.Journal.Write(ctx, func(tx *journal.Tx) error {
		p, err := tx.LockTurn(c.Tenant, c.ParentTurnID)
		if err != nil || p.Ended() {
			return err
		}
		before := p.PausedSince
		if err := s.followAndSave(tx, &p); err != nil || before.IsZero() || !p.PausedSince.IsZero() {
			return err
		}
		return s.deps.Waker.Wake(tx, p) // its time runs again: until when is for its workflow to know
	})
	if errors.Is(err, store.ErrNotFound) { // the parent was deleted
		return nil
	}
	return err
}

// followAndSave is followChildren, and saves the turn if that changed it.
func (s *Service) followAndSave(tx *journal.Tx, t *store.Turn) error {
	before := t.PeopleWaits
	if err := s.followChildren(tx, t); err != nil || t.PeopleWaits == before {
		return err
	}
	return tx.SaveTurn(tx.Context(), *t)
}

// followChildren stops the time of a turn, whose session is locked, while a sub-agent that it waits for waits for people, and lets it run
// again afterwards. All such sub-agents together count as one wait for people. The caller saves the turn.
func (s *Service) followChildren(tx *journal.Tx, t *store.Turn) error {
	if t.Children == 0 {
		return nil
	}
	waits, err := tx.WaitsOf(tx.Context(), t.Tenant, t.ID)
	if err != nil {
		return err
	}
	counted, since := t.PeopleWaits, time.Time{}
	for _, w := range waits {
		switch {
		case !w.Open():
		case w.ForPeople():
			counted--
		case w.Request.GetChildTurnId() != "":
			child, err := tx.Turn(tx.Context(), t.Tenant, w.Request.GetChildTurnId())
			if err != nil && !errors.Is(err, store.ErrNotFound) {
				return err
			}
			if at := later(child.PausedSince, w.CreateTime); child.Waiting() && (since.IsZero() || at.Before(since)) {
				since = at
			}
		}
	}
	switch {
	case !since.IsZero() && counted == 0:
		return s.stopFor(tx, t, since)
	case since.IsZero() && counted > 0:
		return s.goOn(tx, t)
	}
	return nil
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// stopFor records that sub-agents wait for people.
func (s *Service) stopFor(tx *journal.Tx, t *store.Turn, since time.Time) error {
	n, err := pauses(tx, *t)
	if err != nil {
		return err
	}
	if t.PeopleWaits++; t.PeopleWaits == 1 {
		if err := s.pause(tx, t, since, &turnv1.TurnPaused{WaitingFor: turnv1.WaitKind_WAIT_KIND_CHILD}); err != nil {
			return err
		}
	}
	return tx.RecordStep(*t, &turnv1.StepOutcome{
		Key: stepkey.Pause(n + 1), Kind: turnv1.StepKind_STEP_KIND_WAIT, Cancelled: t.CancelRequested, CommittedMicros: sqldb.Micros(since),
	})
}

// goOn records that sub-agents do not wait for people any more.
func (s *Service) goOn(tx *journal.Tx, t *store.Turn) error {
	n, err := pauses(tx, *t)
	if err != nil {
		return err
	}
	outcome := &turnv1.StepOutcome{
		Key: stepkey.Resume(stepkey.Pause(n)), Kind: turnv1.StepKind_STEP_KIND_WAIT, Cancelled: t.CancelRequested,
		CommittedMicros: tx.Now().UnixMicro(),
	}
	if t.PeopleWaits--; t.PeopleWaits == 0 {
		if err := s.resume(tx, t); err != nil {
			return err
		}
		outcome.DeadlineMicros = sqldb.Micros(t.Deadline)
	}
	return tx.RecordStep(*t, outcome)
}

// pauses counts how often the turn's time has been stopped for sub-agents.
func pauses(tx *journal.Tx, t store.Turn) (n int, err error) {
	for ; ; n++ {
		_, err := tx.Step(tx.Context(), t.Tenant, t.ID, stepkey.Pause(n+1))
		if errors.Is(err, store.ErrNotFound) {
			return n, nil
		}
		if err != nil {
			return 0, err
		}
	}
}
