package session

import (
	"context"
	"errors"
	"time"

	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/fault"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	"github.com/windlass-dev/windlass/services/sessions/access"
	"github.com/windlass-dev/windlass/services/sessions/journal"
	"github.com/windlass-dev/windlass/services/sessions/store"
	"github.com/windlass-dev/windlass/services/sessions/sweep"
	"github.com/windlass-dev/windlass/workflows/contract"
)

// Delete deletes a session with all that belongs to it. Until the returned time it can be restored; a permanent deletion, whose time is
// zero, erases it at once. A session with an active turn cannot be deleted.
func (s *Service) Delete(ctx context.Context, id string, permanent bool) (restoreUntil time.Time, err error) {
	ses, err := s.Get(ctx, id)
	if err != nil {
		return time.Time{}, err
	}
	err = s.deps.Journal.Write(ctx, func(tx *journal.Tx) error {
		restoreUntil = time.Time{}
		if err := tx.Lock(ses.Tenant, ses.ID); err != nil {
			return err
		}
		if tx.Session.ActiveTurnID != "" {
			return fault.FailedPrecondition(faultv1.Reason_REASON_TURN_ACTIVE, "turn %s of the session is active", tx.Session.ActiveTurnID).
				Hint("Wait for its end or cancel it first.")
		}
		tx.After(func(ctx context.Context) { s.deleted(ctx, ses) })
		if permanent {
			return tx.DeleteSession(ctx, ses.Tenant, ses.ID)
		}
		restoreUntil = tx.Now().Add(s.deps.RestoreFor)
		return tx.HideSession(ctx, ses.Tenant, ses.ID, restoreUntil)
	})
	if errors.Is(err, store.ErrNotFound) {
		err = access.NoSession(ses.ID)
	}
	return restoreUntil, err
}

// Restore brings back a session of the caller that was deleted.
func (s *Service) Restore(ctx context.Context, id string) (store.Session, error) {
	if !access.Storable(id) {
		return store.Session{}, access.NoSession(id)
	}
	err := s.deps.Store.Write(ctx, func(tx *store.Tx) error {
		ses, err := tx.LockDeleted(ctx, authn.Tenant(ctx), id)
		if err == nil && (!access.Sees(ctx, ses.Subject) || ses.EraseTime.Before(s.deps.Store.Now())) {
			err = store.ErrNotFound
		}
		if err != nil {
			return err
		}
		return tx.RestoreSession(ctx, ses.Tenant, ses.ID)
	})
	if errors.Is(err, store.ErrNotFound) {
		return store.Session{}, access.NoSession(id)
	}
	if err != nil {
		return store.Session{}, err
	}
	return s.Get(ctx, id)
}

// Sweep erases the deleted sessions that cannot be restored any more.
func (s *Service) Sweep(ctx context.Context) error {
	return sweep.Due(ctx, sweep.ByNow(s.deps.Store, s.deps.Store.Deleted), func(ctx context.Context, ses store.DeletedSession) error {
		err := s.deps.Store.Write(ctx, func(tx *store.Tx) error {
			now, err := tx.LockDeleted(ctx, ses.Tenant, ses.ID)
			if err != nil {
				return err
			}
			if !now.EraseTime.Equal(ses.EraseTime) { // it was restored and deleted again meanwhile
				return nil
			}
			return tx.DeleteSession(ctx, ses.Tenant, ses.ID)
		})
		if errors.Is(err, store.ErrNotFound) { // another replica has erased it, or it was restored
			return nil
		}
		if err == nil {
			s.deps.Erase()
		}
		return err
	})
}

// deleted notifies those that depend on a session that it is gone. An empty message makes the watchers read the journal.
func (s *Service) deleted(ctx context.Context, ses store.Session) {
	s.deps.Erase()
	if err := s.deps.Bus.Publish(contract.EventSubject(ses.Tenant, ses.ID), nil); err != nil {
		s.deps.Log.DebugContext(ctx, "watchers of a deleted session not notified", "session_id", ses.ID, "error", err)
	}
}
