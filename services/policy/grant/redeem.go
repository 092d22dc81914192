package grant

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"github.com/windlass-dev/windlass/libs/backoff"
	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/secret"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	"github.com/windlass-dev/windlass/services/policy/grant/exchange"
	"github.com/windlass-dev/windlass/services/policy/grant/store"
)

const (
	// leaseTime is how long a replica may take to replace the tokens of a login. It is longer than a request to an issuer.
	leaseTime = 30 * time.Second
	// leasePause is between two checks of a login whose tokens another replica replaces.
	leasePause = 50 * time.Millisecond
)

// Redemption is a request for a token with which a tool can be called for a user.
type Redemption struct {
	User User
	// TurnID is the turn that calls; empty for a direct call, which has the sealed token of its caller.
	TurnID string
	Sealed []byte
	// Source is the name of the tool's source, and Issuer that of the issuer whose users it takes; empty = any.
	Source, Issuer string
	// Target is what the token is for.
	Target exchange.Target
	// Fresh asks for a new token: the source has refused the last one.
	Fresh bool
}

// Redeem returns a token of the user for a target. Errors are faults: AUTHORIZATION_REQUIRED if the user has to log in.
func (s *Service) Redeem(ctx context.Context, r Redemption) (exchange.Token, error) {
	switch {
	case !s.deps.Issuers.Knows(r.User.Issuer):
		return exchange.Token{}, noLogin(r.User)
	case r.Issuer != "" && r.Issuer != r.User.Issuer:
		return exchange.Token{}, fault.FailedPrecondition(faultv1.Reason_REASON_FAILED_PRECONDITION,
			"source %q takes users of issuer %q, and %q is one of %q", r.Source, r.Issuer, r.User.Subject, r.User.Issuer)
	case r.TurnID == "":
		return s.direct(ctx, r)
	}
	g, err := s.ofTurn(ctx, r)
	if err != nil {
		return exchange.Token{}, err
	}
	now := s.deps.Store.Now()
	switch {
	case g.Subject != r.User.Subject:
		return exchange.Token{}, fault.NotFound("turn %q has no grant of %q", r.TurnID, r.User.Subject)
	case !g.Revoked.IsZero():
		return exchange.Token{}, fault.FailedPrecondition(faultv1.Reason_REASON_FAILED_PRECONDITION,
			"%q has revoked the grant %s of the turn", g.Subject, g.ID).Hint("Send the input as a new turn.")
	case !now.Before(g.Expires):
		return exchange.Token{}, loginRequired(r, "the grant of the turn has expired")
	case g.LoginID == "" || !g.Login.Usable(now):
		return exchange.Token{}, loginRequired(r, "the turn has no login of its user that is still valid")
	}
	return s.redeem(ctx, r, g)
}

// ofTurn returns the grant of a turn. A turn that began without a login gets one that waits for a login.
func (s *Service) ofTurn(ctx context.Context, r Redemption) (store.Grant, error) {
	g, err := s.deps.Store.OfTurn(ctx, r.User.Tenant, r.TurnID)
	if !errors.Is(err, store.ErrNotFound) {
		return g, err
	}
	if err := s.deps.Store.Add(ctx, s.newGrant(r.User, r.TurnID)); err != nil {
		return g, err
	}
	return s.deps.Store.OfTurn(ctx, r.User.Tenant, r.TurnID)
}

// direct exchanges the token of a caller.
func (s *Service) direct(ctx context.Context, r Redemption) (exchange.Token, error) {
	if len(r.Sealed) == 0 {
		return exchange.Token{}, loginRequired(r, "the call carries no access token")
	}
	user, err := s.deps.Tokens.Open(r.Sealed, r.User.Tenant, r.User.Subject)
	if err != nil {
		return exchange.Token{}, fault.Internal(fmt.Errorf("open the token of the caller: %w", err))
	}
	subject, identity, err := exchange.Direct(user)
	if err != nil {
		return exchange.Token{}, s.failure(r, err)
	}
	t, err := s.deps.Issuers.Exchange(ctx, r.User.Issuer, subject, identity, r.Target, r.Fresh)
	if err != nil {
		return exchange.Token{}, s.failure(r, err)
	}
	return t, nil
}

// redeem exchanges a token of a grant's login. If the issuer does not accept it, it is replaced once.
func (s *Service) redeem(ctx context.Context, r Redemption, g store.Grant) (exchange.Token, error) {
	identity := "login " + g.LoginID
	for replaced := false; ; replaced = true {
		l, err := s.fresh(ctx, r, g, replaced)
		if err != nil {
			return exchange.Token{}, err
		}
		subject := exchange.Token{Value: l.Access, Subject: l.IssuerSubject, Expires: l.Expires}
		t, err := s.deps.Issuers.Exchange(ctx, g.Issuer, subject, identity, r.Target, r.Fresh)
		switch {
		case err == nil:
			return t, nil
		case exchange.KindOf(err) != exchange.Ended:
			return exchange.Token{}, s.failure(r, err)
		case replaced || l.Refresh.IsZero():
			return exchange.Token{}, s.ended(ctx, r, l, err)
		}
	}
}

// fresh returns a login whose access token can be exchanged now, with tokens from its issuer if necessary, or if replace says so.
func (s *Service) fresh(ctx context.Context, r Redemption, g store.Grant, replace bool) (store.Login, error) {
	var first int64
	for {
		l, err := s.deps.Store.Login(ctx, g.Tenant, g.LoginID)
		if errors.Is(err, store.ErrNotFound) {
			return l, loginRequired(r, "the login of the turn has ended")
		}
		if err != nil {
			return l, err
		}
		if first == 0 {
			first = l.Version
		}
		now := s.deps.Store.Now()
		access := exchange.Token{Value: l.Access, Expires: l.Expires}
		switch {
		case access.Fresh(now) && (!replace || l.Version != first):
			return l, nil
		case l.Refresh.IsZero() && now.Before(l.Expires):
			return l, nil
		case l.Refresh.IsZero():
			return l, loginRequired(r, "the token of the turn's user has expired, and the issuer lets the mesh have no other")
		}
		mine, err := s.deps.Store.Lease(ctx, l, now.Add(leaseTime))
		if err != nil {
			return l, err
		}
		if mine {
			return s.refresh(ctx, r, l)
		}
		if err := backoff.Sleep(ctx, leasePause); err != nil {
			return l, fault.Unavailable(faultv1.Reason_REASON_UNAVAILABLE, "another process is getting the token")
		}
	}
}

// refresh replaces the tokens of a login of which the caller has the lease.
func (s *Service) refresh(ctx context.Context, r Redemption, l store.Login) (store.Login, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), leaseTime) // a token that was replaced must be kept
	defer cancel()
	t, err := s.deps.Issuers.Refresh(ctx, l.Issuer, l.Refresh, l.IssuerSubject)
	if exchange.KindOf(err) == exchange.Ended {
		return l, s.ended(ctx, r, l, err)
	}
	if err != nil {
		return l, errors.Join(s.failure(r, err), s.deps.Store.Release(ctx, l))
	}
	next := l
	next.Access, next.Expires = t.Access.Value, t.Access.Expires
	if !t.Refresh.IsZero() {
		next.Refresh = t.Refresh
	}
	if err := s.deps.Store.Replace(ctx, next); err != nil {
		return l, err
	}
	next.Version++
	return next, nil
}

// ended removes the tokens of a login that its issuer no longer accepts.
func (s *Service) ended(ctx context.Context, r Redemption, l store.Login, why error) error {
	s.deps.Log.InfoContext(ctx, "a login has ended at its issuer", "issuer", l.Issuer, "subject", l.Subject, "error", why)
	if err := s.deps.Store.EndLogin(ctx, l); err != nil {
		return err
	}
	return loginRequired(r, why.Error())
}

// failure is the fault of a token that could not be had.
func (s *Service) failure(r Redemption, err error) error {
	switch exchange.KindOf(err) {
	case exchange.Unreachable:
		return fault.Unavailable(faultv1.Reason_REASON_UNAVAILABLE, "no token for source %q: %s", r.Source, err)
	case exchange.Ended:
		return loginRequired(r, err.Error())
	case exchange.Refused:
		return fault.FailedPrecondition(faultv1.Reason_REASON_FAILED_PRECONDITION, "no token for source %q: %s", r.Source, err).
			Hint("The user may not use it, or an operator has to allow the mesh's client to get tokens for %q.", r.Target.Audience+r.Target.Resource)
	case exchange.Wrong:
		return fault.FailedPrecondition(faultv1.Reason_REASON_FAILED_PRECONDITION, "no token for source %q: %s", r.Source, err).
			Hint("An operator corrects the client of the mesh at the issuer, or the source's audience and scopes.")
	}
	return err
}

func loginRequired(r Redemption, why string) *fault.Error {
	return fault.AuthorizationRequired(r.Source, fault.Login, "", "source %q is called as its user, and %s", r.Source, why)
}

// hashOf identifies a token without revealing it.
func hashOf(t secret.Value) string {
	sum := sha256.Sum256([]byte(t.Reveal()))
	return hex.EncodeToString(sum[:])
}
