package issuer

import (
	"context"
	"slices"
	"strings"

	"github.com/golang-jwt/jwt/v5"
	"github.com/zitadel/oidc/v3/pkg/oidc"
	"github.com/zitadel/oidc/v3/pkg/op"

	"github.com/windlass-dev/windlass/internal/issuer/account"
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

// exchanged returns the token to exchange: an access token that is active and addressed to the client.
func (s *server) exchanged(c client, r *oidc.TokenExchangeRequest) (*token.Access, error) {
	refuse := oidc.ErrInvalidRequest().WithDescription
	switch {
	case r.SubjectTokenType != oidc.AccessTokenType && r.SubjectTokenType != oidc.JWTTokenType:
		return nil, refuse("subject_token_type must be that of an access token")
	case r.RequestedTokenType != "" && r.RequestedTokenType != oidc.AccessTokenType:
		return nil, refuse("requested_token_type must be that of an access token")
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
