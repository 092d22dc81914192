package bff

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"github.com/windlass-dev/windlass/libs/secret"
)

// CallbackPath is where the issuer sends browsers back.
const CallbackPath = "/login/callback"

// provider is what discovery tells about the issuer.
type provider struct {
	oauth              oauth2.Config
	verifier           *oidc.IDTokenVerifier
	endSession, revoke string
}

// discover returns the provider, which is read once.
func (b *BFF) discover(ctx context.Context) (*provider, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.provider != nil {
		return b.provider, nil
	}
	found, err := oidc.NewProvider(b.client(ctx), b.cfg.Issuer)
	if err != nil {
		return nil, fmt.Errorf("read about issuer %s: %w", b.cfg.Issuer, err)
	}
	var more struct {
		EndSession string `json:"end_session_endpoint"`
		Revoke     string `json:"revocation_endpoint"`
	}
	if err := found.Claims(&more); err != nil {
		return nil, fmt.Errorf("read about issuer %s: %w", b.cfg.Issuer, err)
	}
	b.provider = &provider{
		oauth: oauth2.Config{
			ClientID: b.cfg.ClientID, ClientSecret: b.cfg.ClientSecret.Reveal(), Endpoint: found.Endpoint(), Scopes: b.cfg.Scopes,
			RedirectURL: b.base.JoinPath(CallbackPath).String(),
		},
		verifier: found.Verifier(&oidc.Config{ClientID: b.cfg.ClientID}), endSession: more.EndSession, revoke: more.Revoke,
	}
	if b.cfg.ClientSecret.IsZero() {
		b.provider.oauth.Endpoint.AuthStyle = oauth2.AuthStyleInParams
	}
	return b.provider, nil
}

func (b *BFF) client(ctx context.Context) context.Context {
	return oidc.ClientContext(ctx, b.deps.Client)
}

// tokens are those of a login.
type tokens struct {
	Access  string `json:"access"`
	Refresh string `json:"refresh,omitempty"`
	ID      string `json:"id"`
	// Expires is when the access token does, and Renew when it is to be replaced.
	Expires time.Time `json:"expires"`
	Renew   time.Time `json:"renew"`
}

// tokensOf returns the tokens of a response. What it lacks stays as it was.
func tokensOf(t *oauth2.Token, before tokens) tokens {
	now := time.Now()
	out := tokens{Access: t.AccessToken, Refresh: t.RefreshToken, ID: before.ID, Expires: t.Expiry}
	if out.Refresh == "" {
		out.Refresh = before.Refresh
	}
	if id, ok := t.Extra("id_token").(string); ok && id != "" {
		out.ID = id
	}
	if out.Expires.IsZero() {
		out.Expires = now.Add(time.Hour) // the verifier knows better
	}
	out.Renew = now.Add(out.Expires.Sub(now) * 4 / 5)
	return out
}

// redeem exchanges a code for tokens, and checks that the ID token answers this attempt.
func (b *BFF) redeem(ctx context.Context, code string, a attempt) (tokens, error) {
	p, err := b.discover(ctx)
	if err != nil {
		return tokens{}, err
	}
	ctx = b.client(ctx)
	t, err := p.oauth.Exchange(ctx, code, oauth2.VerifierOption(a.Verifier))
	if err != nil {
		return tokens{}, withoutBody(err)
	}
	out := tokensOf(t, tokens{})
	id, err := p.verifier.Verify(ctx, out.ID)
	switch {
	case err != nil:
		return tokens{}, fmt.Errorf("the ID token is not valid: %w", err)
	case subtle.ConstantTimeCompare([]byte(id.Nonce), []byte(a.Nonce)) != 1:
		return tokens{}, errors.New("the ID token answers another login: its nonce differs")
	case id.AccessTokenHash != "":
		if err := id.VerifyAccessToken(out.Access); err != nil {
			return tokens{}, fmt.Errorf("the access token is not that of the ID token: %w", err)
		}
	}
	return out, nil
}

// withoutBody drops the body of a response from an error: it may have tokens.
func withoutBody(err error) error {
	if refused, ok := errors.AsType[*oauth2.RetrieveError](err); ok {
		return &refusal{refused.ErrorCode, refused.Response.StatusCode}
	}
	return err
}

// refusal is the answer of an issuer that does not give tokens.
type refusal struct {
	code   string
	status int
}

func (r *refusal) Error() string { return fmt.Sprintf("the issuer answers %d %q", r.status, r.code) }

// final reports whether an error means that a login cannot be refreshed any more.
func final(err error) bool {
	r, ok := errors.AsType[*refusal](err)
	return ok && r.code == "invalid_grant"
}

// end tells the issuer that a login is over.
func (b *BFF) end(ctx context.Context, t tokens) error {
	p, err := b.discover(ctx)
	if err != nil || p.revoke == "" || t.Refresh == "" {
		return err
	}
	form := url.Values{"token": {t.Refresh}, "token_type_hint": {"refresh_token"}}
	if b.cfg.ClientSecret.IsZero() {
		form.Set("client_id", b.cfg.ClientID)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, p.revoke, strings.NewReader(form.Encode()))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	if s := b.cfg.ClientSecret; !s.IsZero() {
		req.SetBasicAuth(url.QueryEscape(b.cfg.ClientID), url.QueryEscape(s.Reveal()))
	}
	resp, err := b.deps.Client.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }() // its content does not matter
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("the issuer answers %s", resp.Status)
	}
	return nil
}

// farewell is where a browser goes after a logout: to the issuer, which ends its own session and sends it back.
func (b *BFF) farewell(ctx context.Context, t tokens) string {
	home := b.base.JoinPath("/").String()
	p, err := b.discover(ctx)
	if err != nil || p.endSession == "" || t.ID == "" {
		return home
	}
	u, err := url.Parse(p.endSession)
	if err != nil {
		return home
	}
	q := u.Query()
	q.Set("id_token_hint", t.ID)
	q.Set("client_id", b.cfg.ClientID)
	q.Set("post_logout_redirect_uri", home)
	u.RawQuery = q.Encode()
	return u.String()
}

// sealed encrypts tokens for the store.
func (b *BFF) sealed(id []byte, t tokens) ([]byte, error) {
	text, err := marshal(t)
	if err != nil {
		return nil, err
	}
	return b.box.Seal(secret.New(text), owner(id)), nil
}
