package child

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/windlass-dev/windlass/libs/authn"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/sessions/journal"
	"github.com/windlass-dev/windlass/services/sessions/requester"
	"github.com/windlass-dev/windlass/services/sessions/store"
	"github.com/windlass-dev/windlass/services/sessions/sweep"
	"github.com/windlass-dev/windlass/services/sessions/wait"
)

// parentEndedReason stands in the journal of a sub-agent's turn whose parent ended first.
const parentEndedReason = "the turn that waited for it has ended"

// childLease is how long a child that the sweep of one replica has taken is left alone by others.
const childLease = 30 * time.Second

// AfterEnd notifies the parent of a turn that ends and stops its children, once the end is committed. What is lost here is found by Sweep.
func (s *Service) AfterEnd(tx *journal.Tx, t store.Turn) {
	if t.AgentPath != "" {
		tx.After(func(ctx context.Context) {
			s.sync(ctx, store.Child{Tenant: t.Tenant, TurnID: t.ID}, s.notifyParent)
		})
	}
	if t.Children > 0 {
		tx.After(func(ctx context.Context) {
			s.sync(ctx, store.Child{Tenant: t.Tenant, TurnID: t.ID}, s.stopChildren)
		})
	}
}

// sync calls do for a child, which is tried again by the sweep if it fails. Only the first attempt of the sweep logs a warning.
func (s *Service) sync(ctx context.Context, c store.Child, do func(context.Context, string) error) {
	p := authn.Service("sessions")
	p.Tenant = c.Tenant
	if err := do(authn.With(context.WithoutCancel(ctx), p), c.TurnID); err != nil {
		level := slog.LevelDebug
		if c.Attempts == 1 {
			level = slog.LevelWarn
		}
		s.deps.Log.Log(ctx, level, "parent or children of an ended turn not notified yet", "turn_id", c.TurnID, "attempt", c.Attempts, "error",
			err)
	}
}

// Sweep notifies parents and stops children that were missed after the end of a turn.
func (s *Service) Sweep(ctx context.Context) error {
	if err := sweep.Due(ctx, sweep.ByNow(s.deps.Store, s.deps.Store.DueChildren), s.take(s.notifyParent)); err != nil {
		return err
	}
	return sweep.Due(ctx, sweep.ByNow(s.deps.Store, s.deps.Store.AbandonedChildren), s.take(s.stop))
}

// take returns a function that takes a child that is due, so that no other replica does, and calls do for it. If that fails the
// child is due again later.
func (s *Service) take(do func(context.Context, string) error) func(context.Context, store.Child) error {
	return func(ctx context.Context, c store.Child) error {
		taken := false
		err := s.deps.Store.Write(ctx, func(tx *store.Tx) (err error) {
			taken, err = tx.TakeChild(ctx, c, s.deps.Store.Now().Add(childLease))
			return err
		})
		if err != nil || !taken {
			return err
		}
		c.Attempts++
		s.sync(ctx, c, do)
		return s.deps.Store.Write(ctx, func(tx *store.Tx) error {
			return tx.PostponeChild(ctx, c.Tenant, c.TurnID, s.deps.Store.Now().Add(sweep.Backoff(c.Attempts)))
		})
	}
}

// notifyParent answers the call that waits for an ended child, or sends the result to the parent's session as a turn. A call that
// does not wait yet finds the end by itself when it begins to.
func (s *Service) notifyParent(ctx context.Context, turnID string) error {
	tenant := authn.Tenant(ctx)
	c, err := s.deps.Store.Child(ctx, tenant, turnID)
	if err != nil || c.ParentNotified {
		return err
	}
	end, err := readEnd(ctx, s.deps.Store, c)
	if err != nil || end == nil {
		return err
	}
	if c.Background {
		return s.callBack(ctx, c, end)
	}
	err = s.deps.Journal.Write(ctx, func(tx *journal.Tx) error {
		p, err := tx.LockTurn(tenant, c.ParentTurnID)
		if err != nil {
			return err
		}
		if p.Ended() {
			return tx.SetParentNotified(ctx, tenant, turnID)
		}
		open, err := wait.Open(tx, p)
		if err != nil {
			return err
		}
		for i := range open {
			if open[i].Request.GetChildTurnId() == turnID {
				return s.answer(tx, &p, &open[i], end)
			}
		}
		return nil
	})
	if errors.Is(err, store.ErrNotFound) { // the parent was deleted
		return s.deps.Store.Write(ctx, func(tx *store.Tx) error { return tx.SetParentNotified(ctx, tenant, turnID) })
	}
	return err
}

// answer ends the wait for a child, and wakes the parent.
func (s *Service) answer(tx *journal.Tx, p *store.Turn, w *store.Wait, end *end) error {
	w.Answer.Result = end.result
	if err := requester.Inherit(tx, *p, end.turn.ID); err != nil {
		return err
	}
	if _, err := tx.Append(wait.Origin(*p, *w), &turnv1.Event{Data: &turnv1.Event_ChildCompleted{ChildCompleted: end.event}}); err != nil {
		return err
	}
	if err := s.deps.Waits.EndAndWake(tx, p, w, turnv1.Verdict_VERDICT_ANSWERED, ""); err != nil {
		return err
	}
	return tx.SetParentNotified(tx.Context(), end.link.Tenant, end.link.TurnID)
}

// Join answers a wait for a child that has begun just now, if the child is over already: nothing else would.
func (s *Service) Join(tx *journal.Tx, p *store.Turn, waitID string) error {
	w, err := tx.Wait(tx.Context(), p.Tenant, waitID)
	if err != nil {
		return err
	}
	c, err := tx.Child(tx.Context(), p.Tenant, w.Request.GetChildTurnId())
	if err != nil {
		return err
	}
	end, err := readEnd(tx.Context(), tx, c)
	if err != nil || end == nil {
		return err
	}
	return s.answer(tx, p, &w, end)
}

// stopChildren cancels the children that a turn waited for.
func (s *Service) stopChildren(ctx context.Context, turnID string) error {
	t, err := s.deps.Store.Turn(ctx, authn.Tenant(ctx), turnID)
	if err != nil {
		return err
	}
	descendants, err := byParent(ctx, s.deps.Store, t)
	if err != nil {
		return err
	}
	for _, c := range descendants[turnID] {
		if c.Background {
			continue
		}
		err = errors.Join(err, s.stop(ctx, c.TurnID))
	}
	return err
}

// stop cancels the turn of a sub-agent, unless it is over.
func (s *Service) stop(ctx context.Context, turnID string) error {
	t, err := s.deps.Store.Turn(ctx, authn.Tenant(ctx), turnID)
	if errors.Is(err, store.ErrNotFound) || err == nil && t.Ended() {
		return nil // it was never made, or it came to its end by itself
	}
	if err != nil {
		return err
	}
	return s.deps.Turns.Cancel(ctx, t, parentEndedReason)
}
