// Package grant lets turns act for their users, hours after the users have sent them. A turn has a grant; with it, policy gets the tokens
// that tools are called with from the user's issuer. A grant never stands for more than its user, and no token of another identity takes
// its place.
package grant

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/windlass-dev/windlass/libs/callertoken"
	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/ids"
	"github.com/windlass-dev/windlass/libs/secret"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	"github.com/windlass-dev/windlass/services/policy/grant/exchange"
	"github.com/windlass-dev/windlass/services/policy/grant/store"
)

// Config configures grants.
type Config struct {
	MaxAge time.Duration `yaml:"max_age" default:"720h" doc:"How long a turn can act for its user without a new login, at most."`
}

// Issuers get tokens; *exchange.Client does.
type Issuers interface {
	Knows(issuer string) bool
	Login(ctx context.Context, issuer string, user secret.Value) (exchange.Tokens, error)
	Refresh(ctx context.Context, issuer string, refresh secret.Value, subject string) (exchange.Tokens, error)
	Exchange(
		ctx context.Context, issuer string, subject exchange.Token, identity string, t exchange.Target, fresh bool,
	) (exchange.Token, error)
	Revoke(ctx context.Context, issuer string, refresh secret.Value) error
}

// Waiting turns go on once their user has logged in.
type Waiting interface {
	// LoggedIn returns how many calls are made again.
	LoggedIn(ctx context.Context, tenant, subject string) (int, error)
}

// Deps are what the service needs; all are required.
type Deps struct {
	Store   *store.Store
	Issuers Issuers
	// Tokens opens the tokens of users.
	Tokens *callertoken.Sealer
	// Waiting is notified of logins.
	Waiting Waiting
	Log     *slog.Logger
}

// Service keeps grants and redeems them. It is safe for concurrent use.
type Service struct {
	cfg  Config
	deps Deps
}

// New returns a Service.
func New(cfg Config, deps Deps) *Service { return &Service{cfg: cfg, deps: deps} }

// User is for whom something is done.
type User struct {
	// Tenant and Subject identify the user; Issuer is the name of the user's issuer, "" for users without one.
	Tenant, Subject, Issuer string
}

// Create makes the grant of a turn: of the token that its user presented or, with parent, like that of the turn that started it. Without
// either there is none, and redeeming it asks for a login. Making it again changes nothing.
func (s *Service) Create(ctx context.Context, u User, turn, parent string, sealed []byte) error {
	if !s.deps.Issuers.Knows(u.Issuer) {
		return nil
	}
	g := s.newGrant(u, turn)
	if parent != "" {
		from, err := s.deps.Store.OfTurn(ctx, u.Tenant, parent)
		if errors.Is(err, store.ErrNotFound) || err == nil && from.Subject != u.Subject {
			return nil
		}
		if err != nil {
			return err
		}
		g.ParentID, g.LoginID = from.ID, from.LoginID
		return s.attach(ctx, g)
	}
	if len(sealed) == 0 {
		return nil
	}
	user, err := s.deps.Tokens.Open(sealed, u.Tenant, u.Subject)
	if err != nil {
		return fault.FailedPrecondition(faultv1.Reason_REASON_FAILED_PRECONDITION, "the token of the caller cannot be opened").
			Hint("All processes of the mesh need the same mesh.key.").Cause(err)
	}
	hash := hashOf(user)
	if g.LoginID, err = s.deps.Store.LoginOf(ctx, u.Tenant, u.Subject, hash); err != nil {
		return err
	}
	if g.LoginID != "" {
		if err := s.attach(ctx, g); !errors.Is(err, store.ErrNotFound) {
			return err
		}
	}
	l, err := s.login(ctx, u, user, hash)
	if err != nil {
		return err
	}
	return s.deps.Store.Begin(ctx, l, g)
}

// attach stores a grant that uses the login of another one, or none.
func (s *Service) attach(ctx context.Context, g store.Grant) error {
	if g.LoginID == "" {
		return s.deps.Store.Add(ctx, g)
	}
	err := s.deps.Store.Attach(ctx, g)
	if errors.Is(err, store.ErrNotFound) && g.ParentID != "" { // it has ended meanwhile
		g.LoginID = ""
		return s.deps.Store.Add(ctx, g)
	}
	return err
}

func (s *Service) newGrant(u User, turn string) store.Grant {
	now := s.deps.Store.Now()
	return store.Grant{
		Tenant: u.Tenant, ID: ids.New(ids.Grant), TurnID: turn, Subject: u.Subject, Issuer: u.Issuer, Created: now,
		Expires: now.Add(s.cfg.MaxAge),
	}
}

// login has the issuer give what the mesh needs to act for a user.
func (s *Service) login(ctx context.Context, u User, user secret.Value, hash string) (store.Login, error) {
	t, err := s.deps.Issuers.Login(ctx, u.Issuer, user)
	if err != nil {
		return store.Login{}, fault.FailedPrecondition(faultv1.Reason_REASON_FAILED_PRECONDITION,
			"the token of the caller cannot be used: %s", err)
	}
	return store.Login{
		Tenant: u.Tenant, ID: ids.New(ids.Credential), Subject: u.Subject, Issuer: u.Issuer, IssuerSubject: t.Access.Subject, TokenHash: hash,
		Access: t.Access.Value, Expires: t.Access.Expires, Refresh: t.Refresh,
	}, nil
}

// Renew makes all grants of a user use the login of a token, and has turns that wait for it go on. It returns how many grants there are,
// and how many calls are made again. After an error it is called again.
func (s *Service) Renew(ctx context.Context, u User, sealed []byte) (renewed, resumed int, err error) {
	switch {
	case !s.deps.Issuers.Knows(u.Issuer):
		return 0, 0, noLogin(u)
	case len(sealed) == 0:
		return 0, 0, fault.FailedPrecondition(faultv1.Reason_REASON_FAILED_PRECONDITION, "the call carries no access token").
			Hint("Log in, and call it with the new token.")
	}
	user, err := s.deps.Tokens.Open(sealed, u.Tenant, u.Subject)
	if err != nil {
		return 0, 0, fault.Internal(fmt.Errorf("open the token of the caller: %w", err))
	}
	l, err := s.login(ctx, u, user, hashOf(user))
	if err != nil {
		return 0, 0, err
	}
	if renewed, err = s.deps.Store.Renew(ctx, l, s.deps.Store.Now().Add(s.cfg.MaxAge)); err != nil {
		return 0, 0, err
	}
	resumed, err = s.deps.Waiting.LoggedIn(ctx, u.Tenant, u.Subject)
	return renewed, resumed, err
}

// Get returns a grant of a user.
func (s *Service) Get(ctx context.Context, u User, id string) (store.Grant, error) {
	g, err := s.deps.Store.Get(ctx, u.Tenant, id)
	if errors.Is(err, store.ErrNotFound) || err == nil && g.Subject != u.Subject {
		return store.Grant{}, fault.NotFound("there is no grant %q", id)
	}
	return g, err
}

// List lists at most limit grants of a user, the newest first, after one.
func (s *Service) List(ctx context.Context, u User, before time.Time, beforeID string, limit int) ([]store.Grant, error) {
	return s.deps.Store.List(ctx, u.Tenant, u.Subject, before, beforeID, limit)
}

// Revoke ends a grant of a user for good: the turn, and those that it started, can no longer act for the user.
func (s *Service) Revoke(ctx context.Context, u User, id string) (store.Grant, error) {
	if _, err := s.Get(ctx, u, id); err != nil {
		return store.Grant{}, err
	}
	if err := s.deps.Store.Revoke(ctx, u.Tenant, id); err != nil {
		return store.Grant{}, err
	}
	return s.Get(ctx, u, id)
}

// End removes the grants of turns that have ended, and their tokens. Refresh tokens that no other grant uses are revoked at their issuer,
// if it is there: they expire in any case.
func (s *Service) End(ctx context.Context, tenant string, turns []string) error {
	logins := map[string]store.Login{}
	for _, turn := range turns {
		g, err := s.deps.Store.OfTurn(ctx, tenant, turn)
		if err != nil || g.LoginID == "" {
			continue
		}
		if l, err := s.deps.Store.Login(ctx, tenant, g.LoginID); err == nil && !l.Refresh.IsZero() {
			logins[g.LoginID] = l
		}
	}
	if err := s.deps.Store.End(ctx, tenant, turns); err != nil {
		return err
	}
	for id, l := range logins {
		if _, err := s.deps.Store.Login(ctx, tenant, id); !errors.Is(err, store.ErrNotFound) {
			continue // another turn uses it
		}
		if err := s.deps.Issuers.Revoke(ctx, l.Issuer, l.Refresh); err != nil {
			s.deps.Log.InfoContext(ctx, "a refresh token that no turn needs any more was not revoked", "issuer", l.Issuer, "error", err)
		}
	}
	return nil
}

// Run removes grants that have expired, until ctx ends.
func (s *Service) Run(ctx context.Context) error {
	const every, batch = time.Minute, 100
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		for n := batch; n == batch; {
			var err error
			if n, err = s.deps.Store.Sweep(ctx, batch); err != nil && ctx.Err() == nil {
				s.deps.Log.WarnContext(ctx, "grants that have expired cannot be removed yet", "error", err)
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}

// noLogin is the error about a user whose issuer gives no tokens for tools.
func noLogin(u User) *fault.Error {
	if u.Issuer == "" {
		return fault.New(codes.FailedPrecondition, faultv1.Reason_REASON_FAILED_PRECONDITION, "%q has not logged in at an issuer", u.Subject).
			Hint("Log in (windlass login), and call with the token.")
	}
	return fault.New(codes.FailedPrecondition, faultv1.Reason_REASON_FAILED_PRECONDITION,
		"the mesh cannot get tokens of issuer %q for tools", u.Issuer).
		Hint("An operator gives the mesh a client at the issuer, and sets identity.issuers[].exchange.")
}
