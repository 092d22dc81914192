package issuer

import (
	"context"
	"slices"
	"strings"

	"github.com/golang-jwt/jwt/v5"
	"github.com/zitadel/oidc/v3/pkg/oidc"
	"github.com/zitadel/oidc/v3/pkg/op"

	"github.com/windlass-dev/windlass/internal/issuer/account"
	"github.com/windlass-dev/windlass/internal/issuer/grant"
	"github.com/windlass-dev/windlass/internal/issuer/token"
)

// maxActors bounds the chain of act claims.
const maxActors = 4

// TokenExchange implements op.Server (RFC 8693): a client that received a token, and may do so, gets one with the same subject for another
// audience. The new token names the client as the actor, has no scope that the old one lacks, and does not outlive it.
func (s *server) TokenExchange(_ context.Context, r *op.ClientRequest[oidc.TokenExchangeRequest]) (*op.Response, error) {
	c := s.client(r.Client)
	if c.Public || !c.Allows(account.Exchange) {
		return nil, oidc.ErrUnauthorizedClient().WithDescription("the client may not exchange tokens")
	}
	subject, err := s.exchanged(c, r.Data)
	if err != nil {
		return nil, err
	}
	if r.Data.RequestedTokenType == oidc.RefreshTokenType {
		return s.delegate(c, r.Data, subject)
	}
	audience := append(slices.Clone([]string(r.Data.Audience)), r.Data.Resource...)
	switch {
	case len(audience) == 0:
		return nil, oidc.ErrInvalidRequest().WithDescription("audience or resource is missing")
	case !within(audience, c.ExchangeAudiences):
		return nil, oidc.ErrInvalidTarget().WithDescription("the client may not exchange tokens for this audience")
	}
	granted := strings.Fields(subject.Scope)
	scopes := slices.DeleteFunc(slices.Clone(granted), func(scope string) bool { return scope == oidc.ScopeOfflineAccess })
	if len(r.Data.Scopes) > 0 {
		scopes = r.Data.Scopes
	}
	if !within(scopes, granted) {
		return nil, oidc.ErrInvalidScope().WithDescription("an exchange may not add scopes")
	}
	ttl := min(s.cfg.AccessTokenTTL, subject.ExpiresAt.Sub(s.now()))
	access, err := s.signer.Access(token.Access{
		RegisteredClaims: jwt.RegisteredClaims{Subject: subject.Subject, Audience: audience}, ClientID: c.ID,
		Scope: strings.Join(scopes, " "), Session: subject.Session, Username: subject.Username, Tenant: subject.Tenant, Roles: subject.Roles,
		Actor: &token.Actor{Subject: c.ID, Actor: subject.Actor}, Extra: s.claims(subject.Subject),
	}, ttl)
	if err != nil {
		return nil, oidc.ErrServerError().WithParent(err)
	}
	return op.NewResponse(&oidc.TokenExchangeResponse{
		AccessToken: access, IssuedTokenType: oidc.AccessTokenType, TokenType: oidc.BearerToken, ExpiresIn: seconds(ttl), Scopes: scopes,
	}), nil
}

// delegate lets a client act for a user after the user's token has expired: it gets a refresh token of its own. With that it gets access
// tokens for its own audience, which it can exchange. It ends with the login that the token is of.
func (s *server) delegate(c client, r *oidc.TokenExchangeRequest, subject *token.Access) (*op.Response, error) {
	login, ok := s.grants.Get(subject.Session)
	switch {
	case !c.Allows(account.Refresh):
		return nil, oidc.ErrUnauthorizedClient().WithDescription("the client may not have refresh tokens")
	case !ok || login.Parent != "":
		return nil, oidc.ErrInvalidRequest().WithDescription("subject_token is of no login of a user")
	case len(r.Audience)+len(r.Resource) > 0 && !within(append(slices.Clone([]string(r.Audience)), r.Resource...), c.Audiences):
		return nil, oidc.ErrInvalidTarget().WithDescription("a refresh token is for the client's own audience")
	}
	scopes := strings.Fields(subject.Scope)
	if len(r.Scopes) > 0 {
		scopes = r.Scopes
	}
	if !within(scopes, strings.Fields(subject.Scope)) {
		return nil, oidc.ErrInvalidScope().WithDescription("an exchange may not add scopes")
	}
	_, refresh, err := s.grants.Begin(grant.Grant{
		Client: c.ID, Subject: subject.Subject, Scopes: scopes, Audience: c.Audiences[:1], AuthTime: login.AuthTime, Expires: login.Expires,
		Parent: login.ID,
	}, true)
	if err != nil {
		return nil, oidc.ErrServerError().WithParent(err)
	}
	return op.NewResponse(&oidc.TokenExchangeResponse{
		AccessToken: refresh, RefreshToken: refresh, IssuedTokenType: oidc.RefreshTokenType, TokenType: "N_A", Scopes: scopes,
	}), nil
}

// exchanged returns the token to exchange: an access token that is active and addressed to the client.
func (s *server) exchanged(c client, r *oidc.TokenExchangeRequest) (*token.Access, error) {
	refuse := oidc.ErrInvalidRequest().WithDescription
	switch {
	case r.SubjectTokenType != oidc.AccessTokenType && r.SubjectTokenType != oidc.JWTTokenType:
		return nil, refuse("subject_token_type must be that of an access token")
	case !slices.Contains([]oidc.TokenType{"", oidc.AccessTokenType, oidc.RefreshTokenType}, r.RequestedTokenType):
		return nil, refuse("requested_token_type must be that of an access token or of a refresh token")
	case r.ActorToken != "":
		return nil, refuse("the actor is the client; actor_token is not supported")
	}
	subject, ok := s.active(r.SubjectToken)
	if !ok || !s.addressed(subject.Audience, c) {
		return nil, refuse("subject_token is not active, or not addressed to the client")
	}
	if subject.Actor.Depth() >= maxActors {
		return nil, refuse("subject_token has been exchanged too often")
	}
	return subject, nil
}

// active returns an access token that has neither expired nor been revoked.
func (s *server) active(raw string) (*token.Access, bool) {
	a, err := s.signer.ReadAccess(raw)
	if err != nil || s.grants.IsRevoked(a.ID) || a.Session != "" && !s.grants.Live(a.Session) {
		return nil, false
	}
	return a, true
}

// claims returns the further claims of a user; a client has none.
func (s *server) claims(subject string) map[string]string {
	u, _ := s.accounts.User(subject)
	return u.Claims
}
