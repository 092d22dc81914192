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

// End ends an open wait of a turn whose session is locked, with the answer as it stands in w: it writes row, event, and the
// outcome with which the turn continues, and saves the turn. subject is who answered, "" if no person did. It does not wake the turn.
func (s *Service) End(tx *journal.Tx, t *store.Turn, w *store.Wait, verdict turnv1.Verdict, subject string) error {
	if err := end(tx, t, w, verdict, subject); err != nil {
		return err
	}
	outcome := &turnv1.StepOutcome{
		Key: stepkey.Wait(w.StepKey), Kind: turnv1.StepKind_STEP_KIND_WAIT, Cancelled: t.CancelRequested, CommittedMicros: tx.Now().UnixMicro(),
		Answer: &turnv1.WaitAnswer{WaitId: w.ID, Verdict: verdict},
	}
	if !t.PausedSince.IsZero() && t.PeopleWaits == 0 {
		if err := s.resume(tx, t); err != nil {
			return err
		}
		outcome.DeadlineMicros = sqldb.Micros(t.Deadline)
	}
	if err := tx.RecordStep(*t, outcome); err != nil {
		return err
	}
	if !w.ForPeople() {
		if err := s.followChildren(tx, t); err != nil {
			return err
		}
	}
	return tx.SaveTurn(tx.Context(), *t)
}

// EndAndWake is End, and wakes the turn.
func (s *Service) EndAndWake(tx *journal.Tx, t *store.Turn, w *store.Wait, verdict turnv1.Verdict, subject string) error {
	if err := s.End(tx, t, w, verdict, subject); err != nil {
		return err
	}
	return s.deps.Waker.Wake(tx, *t)
}

// end writes that a wait is over, and takes it off the turn's counts, which are not saved.
func end(tx *journal.Tx, t *store.Turn, w *store.Wait, verdict turnv1.Verdict, subject string) error {
	w.Verdict, w.EndTime = verdict, tx.Now()
	if err := tx.SaveWait(tx.Context(), *w); err != nil {
		return err
	}
	if e := resolved(*w, subject); e != nil {
		if _, err := tx.Append(Origin(*t, *w), e); err != nil {
			return err
		}
	}
	if err := recordResolved(tx, *w, subject); err != nil {
		return err
	}
	t.OpenWaits--
	if w.ForPeople() {
		t.PeopleWaits--
	}
	return nil
}

// Open reads the open waits of a turn whose session is locked. A turn without any costs no query.
func Open(tx *journal.Tx, t store.Turn) ([]store.Wait, error) {
	if t.OpenWaits == 0 {
		return nil, nil
	}
	waits, err := tx.WaitsOf(tx.Context(), t.Tenant, t.ID)
	if err != nil {
		return nil, err
	}
	var out []store.Wait
	for _, w := range waits {
		if w.Open() {
			out = append(out, w)
		}
	}
	return out, nil
}

// Cancel ends all waits of a turn that is to be cancelled, so that it continues to its end.
func (s *Service) Cancel(tx *journal.Tx, t *store.Turn) error {
	open, err := Open(tx, *t)
	if err != nil || len(open) == 0 {
		return err
	}
	for i := range open {
		if err := s.End(tx, t, &open[i], turnv1.Verdict_VERDICT_CANCELLED, ""); err != nil {
			return err
		}
	}
	return s.deps.Waker.Wake(tx, *t)
}

// Close ends all waits of a turn that ends in this transaction. The caller saves the turn.
func Close(tx *journal.Tx, t *store.Turn) error {
	open, err := Open(tx, *t)
	if err != nil {
		return err
	}
	for i := range open {
		if err := end(tx, t, &open[i], turnv1.Verdict_VERDICT_CANCELLED, ""); err != nil {
			return err
		}
	}
	t.PausedSince, t.PeopleWaits = time.Time{}, 0 // a pause for sub-agents ends too
	return nil
}

// Update locks the session of a wait and calls f with the wait as it is now, which it returns. A wait that has expired is ended
// instead; the error is then that of late.
func (s *Service) Update(
	ctx context.Context, seen store.Wait, f func(tx *journal.Tx, t *store.Turn, w *store.Wait) error, late func(store.Wait) error,
) (store.Wait, error) {
	var now store.Wait
	var expired error
	err := s.deps.Journal.Write(ctx, func(tx *journal.Tx) error {
		expired = nil
		t, err := tx.LockTurn(seen.Tenant, seen.TurnID)
		if err != nil {
			return err
		}
		if now, err = tx.Wait(ctx, seen.Tenant, seen.ID); err != nil {
			return err
		}
		if !now.Due(tx.Now()) {
			return f(tx, &t, &now)
		}
		err = s.EndAndWake(tx, &t, &now, turnv1.Verdict_VERDICT_EXPIRED, "")
		expired = late(now)
		return err
	})
	if errors.Is(err, store.ErrNotFound) {
		err = NotFound(seen.ID)
	}
	if err == nil {
		err = expired
	}
	return now, err
}
