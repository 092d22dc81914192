package sessions

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/fault"
	policyv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policy/v1"
	"github.com/windlass-dev/windlass/services/sessions/store"
)

// roleAdmin sees the sessions of all subjects of its tenant.
const roleAdmin = "admin"

// subject gives whose sessions the caller may see: his own, or "" for all of the tenant (services and administrators).
func subject(ctx context.Context) string {
	p := authn.From(ctx)
	if p.GetKind() == policyv1.PrincipalKind_PRINCIPAL_KIND_SERVICE || slices.Contains(p.GetRoles(), roleAdmin) {
		return ""
	}
	return p.GetSubject()
}

// visible refuses a session that the caller may not see as if it were not there.
func visible(ctx context.Context, ses store.Session) error {
	if own := subject(ctx); own != "" && own != ses.Subject {
		return noSession(ses.ID)
	}
	return nil
}

func noSession(id string) error { return fault.NotFound("session %q does not exist", id) }
func noTurn(id string) error    { return fault.NotFound("turn %q does not exist", id) }
func noAgent(id string) error   { return fault.NotFound("agent %q does not exist", id) }

// known keeps texts that the database cannot hold from becoming questions to it.
func known(id string) bool { return !strings.ContainsRune(id, 0) }

// session reads a session that the caller may see.
func (s *Service) session(ctx context.Context, id string) (store.Session, error) {
	if !known(id) {
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
	if !known(id) {
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
