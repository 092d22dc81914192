package sessions

import (
	"context"
	"errors"

	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/services/sessions/access"
	"github.com/windlass-dev/windlass/services/sessions/store"
)

// visible refuses a session that the caller may not see as if it were not there.
func visible(ctx context.Context, ses store.Session) error {
	if !access.Sees(ctx, ses.Subject) {
		return noSession(ses.ID)
	}
	return nil
}

func noSession(id string) error { return fault.NotFound("session %q does not exist", id) }
func noTurn(id string) error    { return fault.NotFound("turn %q does not exist", id) }

// session reads a session that the caller may see.
func (s *Service) session(ctx context.Context, id string) (store.Session, error) {
	if !access.Storable(id) {
		return store.Session{}, noSession(id)
	}
	ses, err := s.store.Session(ctx, authn.Tenant(ctx), id)
	if errors.Is(err, store.ErrNotFound) {
		return ses, noSession(id)
	}
	if err != nil {
		return ses, err
	}
	return ses, visible(ctx, ses)
}

// turn reads a turn of a session that the caller may see.
func (s *Service) turn(ctx context.Context, id string) (store.Turn, store.Session, error) {
	if !access.Storable(id) {
		return store.Turn{}, store.Session{}, noTurn(id)
	}
	t, ses, err := s.store.TurnAndSession(ctx, authn.Tenant(ctx), id)
	if err == nil && visible(ctx, ses) == nil {
		return t, ses, nil
	}
	if err == nil || errors.Is(err, store.ErrNotFound) {
		err = noTurn(id)
	}
	return store.Turn{}, store.Session{}, err
}

// timeCursor is the page token of lists that are ordered by time.
type timeCursor struct {
	Us int64  `json:"us"`
	ID string `json:"id"`
}

// checkSession returns nil if the caller may see a session.
func (s *Service) checkSession(ctx context.Context, id string) error {
	_, err := s.session(ctx, id)
	return err
}
