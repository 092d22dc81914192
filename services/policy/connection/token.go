package connection

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"time"

	"golang.org/x/net/http/httpguts"
	"golang.org/x/oauth2"
	"golang.org/x/oauth2/clientcredentials"

	"github.com/windlass-dev/windlass/libs/backoff"
	"github.com/windlass-dev/windlass/libs/egress"
	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/truncate"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	"github.com/windlass-dev/windlass/services/policy/connection/store"
)

const (
	// early is how long before its expiry a token is refreshed: the clocks of both sides differ.
	early = 30 * time.Second
	// claim is how long a replica has for a refresh before another one tries. It is longer than the request may take.
	claim = 3 * timeout
)

// pauses are between checks of a refresh that another replica makes.
var pauses = backoff.Policy{First: 20 * time.Millisecond, Max: 500 * time.Millisecond}

// Token is an access token.
type Token struct {
	// Access is the token, Version counts the tokens of the connection, Expires is zero if unknown.
	Access  string
	Version uint32
	Expires time.Time
}

// Wanted says whose token is needed.
type Wanted struct {
	store.Key
	// Source is the source's name, Target the digest of where it is now.
	Source, Target string
	// Refused is the version of a token that the source has refused; 0 = none.
	Refused uint32
	// Insufficient is the version of a token that the source has refused for its scopes, Scopes are those that it wants; 0 = none.
	Insufficient uint32
	Scopes       []string
}

// Token returns a user's access token, refreshed if it expires soon or was refused.
func (c *Connections) Token(ctx context.Context, w Wanted) (Token, error) {
	for wait := pauses.Start(); ; {
		have, tokens, err := c.deps.Store.Open(ctx, w.Key)
		if err := c.usable(w, have, err); err != nil {
			return Token{}, err
		}
		if w.Insufficient != 0 && have.Version == w.Insufficient {
			if err := c.more(ctx, w, have); !errors.Is(err, store.ErrNotFound) {
				return Token{}, err
			}
			continue // the tokens were replaced meanwhile
		}
		if !expired(have.Expires, c.deps.Store.Now()) && have.Version != w.Refused {
			return Token{Access: tokens.Access, Version: have.Version, Expires: have.Expires}, nil
		}
		if tokens.Refresh == "" {
			return Token{}, c.Required(w.Source, w.Subject, fmt.Sprintf("your login at source %q has ended", w.Source))
		}
		done, err := c.refreshOnce(ctx, have)
		if err != nil {
			return Token{}, err
		}
		if done {
			continue
		}
		if err := wait.Wait(ctx); err != nil { // another replica refreshes it
			return Token{}, fault.Unavailable(faultv1.Reason_REASON_TOOL_UNAVAILABLE, "the login at source %q was not refreshed in time",
				w.Source).Cause(err)
		}
	}
}

// usable says why a connection cannot be used for a call.
func (c *Connections) usable(w Wanted, have store.Connection, err error) error {
	switch {
	case errors.Is(err, store.ErrNotFound):
		return c.Required(w.Source, w.Subject, fmt.Sprintf("you have not connected source %q", w.Source))
	case err != nil:
		return fmt.Errorf("read connection: %w", err)
	case have.Target != w.Target:
		return c.Required(w.Source, w.Subject, fmt.Sprintf("source %q was changed after you connected it", w.Source))
	case have.Ended:
		return c.Required(w.Source, w.Subject, fmt.Sprintf("your login at source %q has ended", w.Source))
	}
	return nil
}

// refreshOnce refreshes one version of the tokens, for all callers of this process at once. It is false if another replica does it.
func (c *Connections) refreshOnce(ctx context.Context, have store.Connection) (bool, error) {
	key := fmt.Sprintf("%q %q %q %d", have.Tenant, have.Subject, have.SourceID, have.Version)
	answer := c.flight.DoChan(key, func() (any, error) {
		ctx, cancel := detached(ctx)
		defer cancel()
		return c.refresh(ctx, have)
	})
	select {
	case <-ctx.Done():
		return false, ctx.Err()
	case a := <-answer:
		done, _ := a.Val.(bool)
		return done, a.Err
	}
}

// refresh spends the refresh token, if no other replica does: servers that rotate them take the second use of one for a theft, and end the
// login.
func (c *Connections) refresh(ctx context.Context, seen store.Connection) (bool, error) {
	claimed, err := c.deps.Store.Claim(ctx, seen, c.owner, c.deps.Store.Now().Add(claim))
	if err != nil || !claimed {
		return false, err
	}
	have, tokens, err := c.deps.Store.Open(ctx, seen.Key)
	if errors.Is(err, store.ErrNotFound) || err == nil && have.Version != seen.Version {
		return true, nil
	}
	if err != nil {
		return false, errors.Join(err, c.deps.Store.Release(ctx, seen, c.owner, false))
	}
	token, err := c.request(ctx, have.Tenant, have.Login, url.Values{"grant_type": {"refresh_token"}, "refresh_token": {tokens.Refresh}})
	if err != nil {
		over := ended(err) || c.forget(ctx, have.Tenant, have.Login, err)
		if failed := c.deps.Store.Release(ctx, have, c.owner, over); failed != nil {
			return false, failed
		}
		if over {
			c.deps.Log.InfoContext(ctx, "login at a source has ended", "source", have.Source, "subject", have.Subject)
			return true, nil
		}
		return false, unavailable(have.Source, err)
	}
	next := store.Tokens{Access: token.AccessToken, Refresh: token.RefreshToken}
	if next.Refresh == "" {
		next.Refresh = tokens.Refresh // it stays valid, RFC 6749, section 6
	}
	have.Expires, have.Scopes = token.Expiry, granted(token, have.Scopes)
	_, err = c.deps.Store.Refreshed(ctx, have, c.owner, next)
	if errors.Is(err, store.ErrNotFound) { // deleted or replaced meanwhile
		c.revoke(ctx, have, next)
		return true, nil
	}
	return true, err
}

// request requests a token.
func (c *Connections) request(ctx context.Context, tenant string, l store.Login, params url.Values) (*oauth2.Token, error) {
	secret, err := c.clientSecret(ctx, tenant, l)
	if err != nil {
		return nil, err
	}
	maps.Copy(params, parameters(l))
	cfg := clientcredentials.Config{ // which takes any grant_type
		ClientID: l.ClientID, ClientSecret: secret, TokenURL: l.TokenURL, EndpointParams: params, AuthStyle: oauth2.AuthStyleInParams,
	}
	if secret != "" && !l.InBody {
		cfg.AuthStyle = oauth2.AuthStyleInHeader
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	client := c.deps.Egress.Client(egress.Options{MaxResponseBytes: maxDocument, Once: true})
	token, err := cfg.Token(context.WithValue(ctx, oauth2.HTTPClient, client))
	if err != nil {
		return nil, withoutSecrets(err, secret, params.Get("code"), params.Get("code_verifier"), params.Get("refresh_token"))
	}
	if !strings.EqualFold(token.Type(), "Bearer") || !httpguts.ValidHeaderFieldValue(token.AccessToken) {
		return nil, precondition("its access token cannot be sent as a bearer token")
	}
	return token, nil
}

// withoutSecrets removes what was sent from what the server said.
func withoutSecrets(err error, secrets ...string) error {
	r, ok := errors.AsType[*oauth2.RetrieveError](err)
	if !ok {
		return err
	}
	said := *r
	said.Body = nil
	for _, s := range secrets {
		if s != "" {
			said.ErrorCode = strings.ReplaceAll(said.ErrorCode, s, "***")
			said.ErrorDescription = strings.ReplaceAll(said.ErrorDescription, s, "***")
		}
	}
	return &said
}

// clientSecret returns the secret of the client; empty for a public one.
func (c *Connections) clientSecret(ctx context.Context, tenant string, l store.Login) (string, error) {
	switch {
	case l.SecretRef != "":
		value, err := c.deps.Secrets.Value(ctx, tenant, l.SecretRef)
		return value.Reveal(), err
	case l.Registered:
		have, secret, err := c.deps.Store.Client(ctx, tenant, l.Issuer, l.Redirect)
		if errors.Is(err, store.ErrNotFound) || err == nil && have.ID != l.ClientID {
			return "", nil
		}
		return secret, err
	}
	return "", nil
}

// ended reports whether the server will never accept the refresh token again.
func ended(err error) bool {
	r, ok := errors.AsType[*oauth2.RetrieveError](err)
	return ok && r.ErrorCode == "invalid_grant"
}

// forget deletes a client that registered itself and that the server does not know any more, so that the next login registers another one.
// It reports whether the server does not know it: what was issued to the client is over then too.
func (c *Connections) forget(ctx context.Context, tenant string, l store.Login, err error) bool {
	r, ok := errors.AsType[*oauth2.RetrieveError](err)
	if !ok || r.ErrorCode != "invalid_client" || !l.Registered {
		return false
	}
	c.deps.Log.WarnContext(ctx, "authorization server does not know its client any more", "issuer", l.Issuer, "client_id", l.ClientID)
	gone := store.Client{Tenant: tenant, Issuer: l.Issuer, Redirect: l.Redirect, ID: l.ClientID}
	if err := c.deps.Store.DeleteClient(ctx, gone); err != nil {
		c.deps.Log.WarnContext(ctx, "client was not deleted", "issuer", l.Issuer, "error", err)
	}
	return true
}

// reason is what a token endpoint said, without secrets.
func reason(err error) string {
	text := err.Error()
	if r, ok := errors.AsType[*oauth2.RetrieveError](err); ok {
		text = fmt.Sprintf("status %d %s %s", r.Response.StatusCode, r.ErrorCode, r.ErrorDescription)
	} else if u, ok := errors.AsType[*url.Error](err); ok {
		text = u.Err.Error()
	} else if errors.Is(err, context.DeadlineExceeded) {
		text = "it did not answer in time"
	}
	return strings.TrimSpace(truncate.Bytes(strings.ToValidUTF8(text, "\uFFFD"), 300))
}

// explain is the fault of a code that was not accepted.
func explain(source string, err error) error {
	if f := fault.As(err); f != nil {
		return f
	}
	if errors.Is(err, egress.ErrDenied) {
		return fault.FailedPrecondition(faultv1.Reason_REASON_EGRESS_DENIED, "token endpoint of source %q: %s", source, reason(err))
	}
	return precondition("the token endpoint of source %q gave no token: %s", source, reason(err))
}

// unavailable is the fault of a token that cannot be refreshed now.
func unavailable(source string, err error) error {
	if f := fault.As(err); f != nil {
		return f
	}
	if errors.Is(err, egress.ErrDenied) {
		return explain(source, err)
	}
	return fault.Unavailable(faultv1.Reason_REASON_TOOL_UNAVAILABLE, "the login at source %q cannot be refreshed now: %s", source, reason(err))
}

// Delete deletes a user's connection, and revokes its tokens if the server can do that.
func (c *Connections) Delete(ctx context.Context, tenant, subject, source string) (revoked bool, err error) {
	named, err := c.Get(ctx, tenant, subject, source)
	if err != nil {
		return false, err
	}
	have, tokens, openErr := c.deps.Store.Open(ctx, named.Key)
	err = c.deps.Store.Delete(ctx, named.Key)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return false, fault.NotFound("you have no connection to %q", source)
	case err != nil:
		return false, fmt.Errorf("delete connection: %w", err)
	case openErr != nil: // what cannot be decrypted can be deleted all the same
		c.deps.Log.WarnContext(ctx, "tokens of a deleted connection were not revoked", "source", named.Source, "error", openErr)
		return false, nil
	}
	ctx, cancel := detached(ctx)
	defer cancel()
	return c.revoke(ctx, have, tokens), nil
}

// revoke revokes tokens (RFC 7009), and reports whether the server said that it did.
func (c *Connections) revoke(ctx context.Context, have store.Connection, t store.Tokens) bool {
	if have.Login.RevocationURL == "" {
		return false
	}
	secret, err := c.clientSecret(ctx, have.Tenant, have.Login)
	ok := err == nil
	for _, token := range []struct{ kind, value string }{{"refresh_token", t.Refresh}, {"access_token", t.Access}} {
		if ok && token.value != "" {
			ok = c.revokeOne(ctx, have.Login, secret, token.kind, token.value)
		}
	}
	if !ok {
		c.deps.Log.WarnContext(ctx, "tokens of a deleted connection were not revoked", "source", have.Source, "error", err)
	}
	return ok
}

func (c *Connections) revokeOne(ctx context.Context, l store.Login, secret, kind, token string) bool {
	form := url.Values{"token": {token}, "token_type_hint": {kind}}
	if secret == "" || l.InBody {
		form.Set("client_id", l.ClientID)
		if secret != "" {
			form.Set("client_secret", secret)
		}
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, l.RevocationURL, strings.NewReader(form.Encode()))
	if err != nil {
		return false
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	if secret != "" && !l.InBody {
		req.SetBasicAuth(url.QueryEscape(l.ClientID), url.QueryEscape(secret))
	}
	res, err := c.deps.Egress.Client(egress.Options{Timeout: timeout, MaxResponseBytes: maxDocument, Once: true}).Do(req)
	if err != nil {
		return false
	}
	defer res.Body.Close()
	return res.StatusCode == http.StatusOK
}
