package access

import (
	"context"
	"errors"

	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/services/sessions/store"
)

// NoSession is the error about a session that does not exist, or that the caller may not see.
func NoSession(id string) error { return fault.NotFound("session %q does not exist", id) }

// NoTurn is the error about a turn that does not exist, or that the caller may not see.
func NoTurn(id string) error { return fault.NotFound("turn %q does not exist", id) }

// Reader reads sessions and turns for callers. One that the caller may not see does not exist for them.
type Reader struct{ store *store.Store }

// NewReader returns a Reader.
func NewReader(s *store.Store) Reader { return Reader{s} }

// Session returns a session that the caller may see.
func (r Reader) Session(ctx context.Context, id string) (store.Session, error) {
	if !Storable(id) {
		return store.Session{}, NoSession(id)
	}
	ses, err := r.store.Session(ctx, authn.Tenant(ctx), id)
	if errors.Is(err, store.ErrNotFound) || err == nil && !Sees(ctx, ses.Subject) {
		err = NoSession(id)
	}
	return ses, err
}

// CheckSession returns nil if the caller may see a session.
func (r Reader) CheckSession(ctx context.Context, id string) error {
	_, err := r.Session(ctx, id)
	return err
}

// Turn returns a turn of a session that the caller may see, and the session.
func (r Reader) Turn(ctx context.Context, id string) (store.Turn, store.Session, error) {
	if !Storable(id) {
		return store.Turn{}, store.Session{}, NoTurn(id)
	}
	t, ses, err := r.store.TurnAndSession(ctx, authn.Tenant(ctx), id)
	if errors.Is(err, store.ErrNotFound) || err == nil && !Sees(ctx, ses.Subject) {
		err = NoTurn(id)
	}
	if err != nil {
		return store.Turn{}, store.Session{}, err
	}
	return t, ses, nil
}

// Input returns what a turn that the caller may see was given.
func (r Reader) Input(ctx context.Context, t store.Turn) (store.TurnInput, error) {
	in, err := r.store.TurnInputs(ctx, t.Tenant, t.ID)
	if err == nil && len(in) != 1 {
		err = NoTurn(t.ID) // it was deleted just now
	}
	if err != nil {
		return store.TurnInput{}, err
	}
	return in[0], nil
}
