package issuer

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/zitadel/oidc/v3/pkg/oidc"
	"github.com/zitadel/oidc/v3/pkg/op"

	"github.com/windlass-dev/windlass/internal/issuer/grant"
	"github.com/windlass-dev/windlass/internal/issuer/token"
)

// Introspect implements op.Server. A client learns about tokens that are its own or addressed to it; all others are inactive.
func (s *server) Introspect(_ context.Context, r *op.Request[op.IntrospectionRequest]) (*op.Response, error) {
	c, err := s.verify(r.Data.ClientCredentials)
	if err != nil {
		return nil, err
	}
	a, ok := s.active(r.Data.Token)
	if c.Public || !ok || a.ClientID != c.ID && !s.addressed(a.Audience, c) {
		return op.NewResponse(map[string]bool{"active": false}), nil
	}
	return op.NewResponse(introspection{
		Active: true, Scope: a.Scope, ClientID: a.ClientID, Username: a.Username, Subject: a.Subject, Audience: a.Audience, Issuer: a.Issuer,
		ID: a.ID, TokenType: oidc.BearerToken, Expires: a.ExpiresAt.Unix(), Issued: a.IssuedAt.Unix(), Tenant: a.Tenant, Roles: a.Roles,
		Actor: a.Actor,
	}), nil
}

// introspection is the response about an active token (RFC 7662).
type introspection struct {
	Active    bool         `json:"active"`
	Scope     string       `json:"scope,omitempty"`
	ClientID  string       `json:"client_id"`
	Username  string       `json:"username,omitempty"`
	Subject   string       `json:"sub"`
	Audience  []string     `json:"aud"`
	Issuer    string       `json:"iss"`
	ID        string       `json:"jti"`
	TokenType string       `json:"token_type"`
	Expires   int64        `json:"exp"`
	Issued    int64        `json:"iat"`
	Tenant    string       `json:"tenant"`
	Roles     []string     `json:"roles,omitempty"`
	Actor     *token.Actor `json:"act,omitempty"`
}

// UserInfo implements op.Server.
func (s *server) UserInfo(_ context.Context, r *op.Request[oidc.UserInfoRequest]) (*op.Response, error) {
	a, ok := s.active(r.Data.AccessToken)
	if !ok || !slices.Contains(strings.Fields(a.Scope), oidc.ScopeOpenID) {
		return nil, op.NewStatusError(oidc.ErrAccessDenied().WithDescription("the access token is not active, or lacks scope openid"),
			http.StatusUnauthorized)
	}
	info := map[string]any{"sub": a.Subject, "preferred_username": a.Username, "tenant": a.Tenant, "roles": a.Roles}
	for k, v := range s.claims(a.Subject) {
		info[k] = v
	}
	return op.NewResponse(info), nil
}

// Revocation implements op.Server. With a refresh token the login ends, and with it all access tokens; an access token is revoked alone.
// The mesh does not ask whether an access token has been revoked: it expires soon.
func (s *server) Revocation(_ context.Context, r *op.ClientRequest[oidc.RevocationRequest]) (*op.Response, error) {
	c := s.client(r.Client)
	if g, err := s.grants.Owner(r.Data.Token, c.ID); err == nil {
		if err := s.grants.End(g.ID); err != nil {
			return nil, oidc.ErrServerError().WithParent(err)
		}
	} else if a, ok := s.active(r.Data.Token); ok && a.ClientID == c.ID {
		if err := s.grants.Revoke(a.ID, a.ExpiresAt.Time); err != nil {
			return nil, oidc.ErrServerError().WithParent(err)
		}
	}
	return op.NewResponse(struct{}{}), nil // RFC 7009: also for tokens that are unknown
}

// EndSession implements op.Server. Only with an ID token does it end anything: a link that somebody else made does not log a user out.
func (s *server) EndSession(_ context.Context, r *op.Request[oidc.EndSessionRequest]) (*op.Redirect, error) {
	if r.Data.IdTokenHint == "" {
		return nil, oidc.ErrInvalidRequest().WithDescription("id_token_hint is missing")
	}
	id, err := s.signer.ReadIDHint(r.Data.IdTokenHint)
	if err != nil || r.Data.ClientID != "" && r.Data.ClientID != id.Authorized {
		return nil, oidc.ErrInvalidRequest().WithDescription("id_token_hint is not valid")
	}
	own, _ := s.known(id.Authorized)
	to := s.url + "/logged-out"
	if uri := r.Data.PostLogoutRedirectURI; uri != "" {
		if !own.redirects(uri) {
			return nil, oidc.ErrInvalidRequest().WithDescription("post_logout_redirect_uri is none of the client's")
		}
		to = s.withState(uri, r.Data.State)
	}
	err = s.grants.EndAll(func(g grant.Grant) bool { return g.Client == id.Authorized && g.Subject == id.Subject })
	if err != nil {
		return nil, oidc.ErrServerError().WithParent(err)
	}
	return op.NewRedirect(to), nil
}

func (s *server) withState(uri, state string) string {
	if state == "" {
		return uri
	}
	return s.reply(uri, url.Values{"state": {state}})
}
