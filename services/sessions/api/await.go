package api

import (
	"context"
	"errors"
	"time"

	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/sessions/access"
	"github.com/windlass-dev/windlass/services/sessions/store"
)

// awaitEnd returns when the turn is over or the time is, whichever is first.
func (s *Watcher) awaitEnd(ctx context.Context, t store.Turn, wait time.Duration) error {
	_, err := s.await(ctx, t, wait, func(*turnv1.Event) bool { return false }, store.Turn.Ended)
	return err
}

// awaitAnswer returns also when the turn waits for people. It is false when the time is over.
func (s *Watcher) awaitAnswer(ctx context.Context, t store.Turn, wait time.Duration) (bool, error) {
	return s.await(ctx, t, wait, func(e *turnv1.Event) bool { return e.GetTurnPaused() != nil },
		func(t store.Turn) bool { return t.Ended() || t.Waiting() })
}

// await returns true when the turn is as it is wanted, and false when the time is over before; the turn is looked at again after
// the events that wake. It answers a little before the call's own deadline.
func (s *Watcher) await(
	ctx context.Context, t store.Turn, wait time.Duration, wakes func(*turnv1.Event) bool, enough func(store.Turn) bool,
) (bool, error) {
	const margin = 250 * time.Millisecond
	wait = min(wait, s.maxWait)
	if deadline, ok := ctx.Deadline(); ok {
		wait = min(wait, time.Until(deadline)-margin)
	}
	bounded, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	err := s.hub.Await(bounded, t.Tenant, t.SessionID, t.ID, wakes, func(ctx context.Context) (bool, error) {
		now, err := s.store.Turn(ctx, t.Tenant, t.ID)
		return err == nil && enough(now), err
	})
	switch {
	case err == nil:
		return true, nil
	case ctx.Err() == nil && bounded.Err() != nil:
		return false, nil
	case errors.Is(err, store.ErrNotFound):
		return false, access.NoTurn(t.ID)
	}
	return false, watchFault(err)
}
