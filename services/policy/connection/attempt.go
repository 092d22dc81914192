package connection

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"golang.org/x/oauth2"
	"google.golang.org/grpc/codes"

	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/ids"
	"github.com/windlass-dev/windlass/libs/truncate"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	"github.com/windlass-dev/windlass/services/policy/connection/store"
)

// Browser is who a browser is known as.
type Browser struct {
	// Known is false if the browser has no login at the gateway.
	Known bool
	// Local means that it runs on the machine of the mesh, as the same user of the operating system, and is not logged in.
	Local bool
	// Tenant and Subject are those of the user who is logged in.
	Tenant, Subject string
}

// Begin begins an attempt, and returns the address that the user opens.
func (c *Connections) Begin(ctx context.Context, tenant, subject, source string) (store.Attempt, string, error) {
	l, err := c.deps.Logins.Login(ctx, tenant, source)
	if err != nil {
		return store.Attempt{}, "", err
	}
	if !l.Wanted {
		return store.Attempt{}, "", precondition("source %q does not want a login of each user", l.Source).
			Hint("Sources with auth of kind oauth2_authorization_code do.")
	}
	login, err := c.resolve(ctx, tenant, l)
	if err != nil {
		return store.Attempt{}, "", err
	}
	now := c.deps.Store.Now()
	ticket, hash := random()
	a := store.Attempt{
		ID: ids.New(ids.ConnectionAttempt), Key: store.Key{Tenant: tenant, Subject: subject, SourceID: l.SourceID},
		Source: l.Source, Target: l.Target, Login: login, Stage: store.Begun, Ticket: hash, Created: now, Expires: now.Add(Lifetime),
	}
	if err := widen(ctx, c.deps.Store, &a); err != nil {
		return store.Attempt{}, "", err
	}
	switch err := c.deps.Store.Begin(ctx, a); {
	case errors.Is(err, store.ErrFull):
		return store.Attempt{}, "", fault.New(codes.ResourceExhausted, faultv1.Reason_REASON_RATE_LIMITED,
			"you have too many open attempts to connect a source").Hint("Finish one, or wait until they expire.").RetryAfter(Lifetime)
	case err != nil:
		return store.Attempt{}, "", fmt.Errorf("begin attempt: %w", err)
	}
	return a, strings.TrimSuffix(c.cfg.URL, "/") + "/connect/" + ticket, nil
}

// Attempt returns an attempt of a user; a NOT_FOUND fault.
func (c *Connections) Attempt(ctx context.Context, tenant, subject, id string) (store.Attempt, bool, error) {
	a, err := c.deps.Store.Attempt(ctx, tenant, subject, id)
	if errors.Is(err, store.ErrNotFound) {
		return a, false, fault.NotFound("there is no attempt %q", id)
	}
	expired := (a.Stage == store.Begun || a.Stage == store.Consented) && !c.deps.Store.Now().Before(a.Expires)
	return a, expired, err
}

// errTicket is the fault of an address that cannot be used.
func errTicket() error {
	return fault.NotFound("this address has expired, or was used already").Hint("Begin again: windlass connection create SOURCE")
}

// open returns the attempt of a ticket, if it is the browser's.
func (c *Connections) open(ctx context.Context, ticket string, b Browser) (store.Attempt, error) {
	a, err := c.deps.Store.Ticket(ctx, digest(ticket))
	if errors.Is(err, store.ErrNotFound) {
		return a, errTicket()
	}
	if err != nil {
		return a, fmt.Errorf("read attempt: %w", err)
	}
	return a, c.belongs(a, b)
}

// belongs refuses the browsers of others: who is made to open the address of another user would connect their own account to that user.
func (c *Connections) belongs(a store.Attempt, b Browser) error {
	refuse := func(format string, args ...any) *fault.Error {
		return fault.New(codes.PermissionDenied, faultv1.Reason_REASON_PERMISSION_DENIED, format, args...)
	}
	switch {
	case b.Known && !b.Local && (b.Tenant != a.Tenant || b.Subject != a.Subject):
		return refuse("this address belongs to another user").Hint("If another person sent it to you, do not use it.")
	case !b.Known && !c.cfg.UnknownBrowsers:
		return refuse("this browser is not logged in here, so it is not known whose account would be connected").
			Hint("Log in here first. An operator may allow browsers that are not, with policy.connections.unknown_browsers.")
	}
	return nil
}

// Show returns an attempt for the consent page, and a secret for its form.
func (c *Connections) Show(ctx context.Context, ticket string, b Browser) (store.Attempt, string, error) {
	a, err := c.open(ctx, ticket, b)
	if err != nil {
		return a, "", err
	}
	consent, hash := random()
	if err := c.deps.Store.Shown(ctx, a, hash); errors.Is(err, store.ErrNotFound) {
		return a, "", errTicket()
	} else if err != nil {
		return a, "", fmt.Errorf("show attempt: %w", err)
	}
	return a, consent, nil
}

// Consented is where a browser goes after its user consented.
type Consented struct {
	// URL is at the authorization server; empty after a refusal.
	URL string
	// Binding is the secret that the browser has to bring back, Cookie distinguishes the cookies of several attempts.
	Binding, Cookie string
	// Source is the name of the source.
	Source string
}

// Decide records the user's decision.
func (c *Connections) Decide(ctx context.Context, ticket string, b Browser, consent string, allow bool) (Consented, error) {
	a, err := c.open(ctx, ticket, b)
	if err != nil {
		return Consented{}, err
	}
	if a.Consent == "" || subtle.ConstantTimeCompare([]byte(a.Consent), []byte(digest(consent))) != 1 {
		return Consented{}, fault.New(codes.PermissionDenied, faultv1.Reason_REASON_PERMISSION_DENIED,
			"this decision was not made on the page that asks for it").Hint("Open the address again, and decide there.")
	}
	if !allow {
		if err := c.deps.Store.Fail(ctx, a, store.Begun, "you refused"); err != nil && !errors.Is(err, store.ErrNotFound) {
			return Consented{}, fmt.Errorf("refuse attempt: %w", err)
		}
		return Consented{Source: a.Source}, nil
	}
	state, stateHash := random()
	binding, bindingHash := random()
	verifier := oauth2.GenerateVerifier()
	switch err := c.deps.Store.Consent(ctx, a, stateHash, bindingHash, verifier); {
	case errors.Is(err, store.ErrNotFound):
		return Consented{}, errTicket()
	case err != nil:
		return Consented{}, fmt.Errorf("consent to attempt: %w", err)
	}
	return Consented{URL: authorizationURL(a.Login, state, verifier), Binding: binding, Cookie: CookieName(state), Source: a.Source}, nil
}

// CookieName distinguishes the cookies of several attempts.
func CookieName(state string) string { return digest(state)[:16] }

// authorizationURL is where the user logs in.
func authorizationURL(l store.Login, state, verifier string) string {
	cfg := oauth2.Config{
		ClientID: l.ClientID, RedirectURL: l.Redirect, Scopes: l.Scopes, Endpoint: oauth2.Endpoint{AuthURL: l.AuthorizationURL},
	}
	opts := []oauth2.AuthCodeOption{oauth2.S256ChallengeOption(verifier)}
	if slices.Contains(l.Scopes, offline) { // which servers may ignore otherwise (OpenID Connect Core, section 11)
		opts = append(opts, oauth2.SetAuthURLParam("prompt", "consent"))
	}
	for name, value := range parameters(l) {
		opts = append(opts, oauth2.SetAuthURLParam(name, value[0]))
	}
	return cfg.AuthCodeURL(state, opts...)
}

// Response is the authorization server's, as a browser brings it.
type Response struct {
	// State, Code, Error and Description are its parameters.
	State, Code, Error, Description string
	// Issuer is the parameter iss; nil = there was none.
	Issuer *string
	// Binding is the browser's cookie.
	Binding string
	// Browser is who the browser is known as.
	Browser Browser
}

// refused is the fault of a response that must not be used. It does not say which check failed: the log does.
func refused() *fault.Error {
	return fault.New(codes.PermissionDenied, faultv1.Reason_REASON_PERMISSION_DENIED,
		"this login cannot be used: it has expired, was used already, or was begun elsewhere").
		Hint("Begin again, and finish in the same browser: windlass connection create SOURCE")
}

// Complete redeems a response and stores the connection.
func (c *Connections) Complete(ctx context.Context, r Response) (store.Attempt, error) {
	a, err := c.deps.Store.State(ctx, digest(r.State))
	if errors.Is(err, store.ErrNotFound) {
		return a, refused().Cause(errors.New("no open attempt has this state"))
	}
	if err != nil {
		return a, fmt.Errorf("read attempt: %w", err)
	}
	// Before the state is used up: a person who has only the state can do nothing with it, not even use it up.
	if subtle.ConstantTimeCompare([]byte(a.Binding), []byte(digest(r.Binding))) != 1 {
		return store.Attempt{}, refused().Cause(errors.New("the browser is another one"))
	}
	if err := c.belongs(a, r.Browser); err != nil {
		return store.Attempt{}, refused().Cause(err)
	}
	verifier, err := c.deps.Store.Redeem(ctx, a)
	if errors.Is(err, store.ErrNotFound) {
		return store.Attempt{}, refused().Cause(errors.New("the state was used"))
	}
	if err != nil {
		return a, fmt.Errorf("redeem attempt: %w", err)
	}
	ctx, cancel := detached(ctx) // the code is spent now, even if the browser goes
	defer cancel()
	if err := c.redeem(ctx, a, r, verifier); err != nil {
		why := fault.As(err)
		if why == nil {
			why = precondition("internal error, see the log of the policy role").Cause(err)
		}
		if err := c.deps.Store.Fail(ctx, a, store.Redeeming, why.Message); err != nil {
			c.deps.Log.WarnContext(ctx, "attempt to connect a source was not ended", "attempt_id", a.ID, "error", err)
		}
		return a, why
	}
	return a, nil
}

// redeem checks the response and requests tokens.
func (c *Connections) redeem(ctx context.Context, a store.Attempt, r Response, verifier string) error {
	if err := checkIssuer(a.Login, r.Issuer); err != nil {
		return err
	}
	if r.Error != "" || r.Code == "" {
		said := strings.TrimSpace(truncate.Bytes(strings.ToValidUTF8(r.Error+" "+r.Description, "\uFFFD"), 300))
		return precondition("the authorization server of source %q refused the login: %s", a.Source, said)
	}
	token, err := c.request(ctx, a.Tenant, a.Login, url.Values{
		"grant_type": {"authorization_code"}, "code": {r.Code}, "redirect_uri": {a.Login.Redirect}, "code_verifier": {verifier},
	})
	if err != nil && c.forget(ctx, a.Tenant, a.Login, err) {
		return precondition("the authorization server of source %q does not know the mesh any more", a.Source).
			Hint("Begin again, and the mesh registers there again: windlass connection create %s", a.Source)
	}
	if err != nil {
		return explain(a.Source, err)
	}
	now := c.deps.Store.Now()
	made := store.Connection{
		Key: a.Key, Source: a.Source, Target: a.Target, Login: a.Login, Issuer: a.Login.Issuer, Scopes: granted(token, a.Login.Scopes),
		Expires: token.Expiry, Created: now, Updated: now,
	}
	if made.Issuer == "" {
		made.Issuer = Host(a.Login.AuthorizationURL)
	}
	if _, err := c.deps.Store.Connect(ctx, a, made, store.Tokens{Access: token.AccessToken, Refresh: token.RefreshToken}); err != nil {
		return fmt.Errorf("store connection: %w", err)
	}
	c.deps.Log.InfoContext(ctx, "source connected", "source", a.Source, "subject", a.Subject)
	if c.deps.Notice == nil {
		return nil
	}
	if err := c.deps.Notice.Connected(ctx, a.Tenant, a.Subject, a.Source); err != nil {
		c.deps.Log.WarnContext(ctx, "turns that wait for a connection were not notified", "source", a.Source, "error", err)
	}
	return nil
}

// checkIssuer refuses responses of other authorization servers (RFC 9207): codes of one must not be sent to another.
func checkIssuer(l store.Login, iss *string) error {
	switch {
	case iss == nil && l.IssuerRequired:
		return precondition("the response does not say which authorization server it is from").
			Hint("If the server never says so, remove issuer from the source's auth.")
	case iss == nil:
		return nil
	case l.Issuer == "":
		return precondition("the response is from the authorization server %q, and the source does not say which one is right", *iss).
			Hint("Set issuer in the source's auth.")
	case *iss != l.Issuer:
		return precondition("the response is from another authorization server than the source's")
	}
	return nil
}

// granted are the scopes of a token: those that were requested, unless the server says otherwise.
func granted(token *oauth2.Token, requested []string) []string {
	if text, ok := token.Extra("scope").(string); ok && text != "" {
		return strings.Fields(text)
	}
	return requested
}

// Expired reports whether a token cannot be used any more, or only for a moment.
func expired(at, now time.Time) bool { return !at.IsZero() && at.Sub(now) <= early }
