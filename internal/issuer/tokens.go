package issuer

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/zitadel/oidc/v3/pkg/oidc"
	"github.com/zitadel/oidc/v3/pkg/op"

	"github.com/windlass-dev/windlass/internal/issuer/account"
	"github.com/windlass-dev/windlass/internal/issuer/flow"
	"github.com/windlass-dev/windlass/internal/issuer/grant"
	"github.com/windlass-dev/windlass/internal/issuer/token"
)

// wrongCode returns the error of a code that was not made for the client, has expired, or was used before.
func wrongCode() error {
	return oidc.ErrInvalidGrant().WithDescription("the code is not valid, or no longer")
}

// CodeExchange implements op.Server.
func (s *server) CodeExchange(ctx context.Context, r *op.ClientRequest[oidc.AccessTokenRequest]) (*op.Response, error) {
	c := s.client(r.Client)
	code, err := s.flows.Redeem(r.Data.Code, c.ID)
	switch {
	case errors.Is(err, flow.ErrReplayed):
		return nil, s.replayed(ctx, c, code.Grant)
	case err != nil:
		return nil, wrongCode()
	case r.Data.RedirectURI != code.Redirect:
		return nil, oidc.ErrInvalidGrant().WithDescription("redirect_uri is not that of the request")
	case !oidc.VerifyCodeChallenge(&oidc.CodeChallenge{Challenge: code.Challenge, Method: oidc.CodeChallengeMethodS256}, r.Data.CodeVerifier):
		return nil, oidc.ErrInvalidGrant().WithDescription("code_verifier is not that of the request")
	}
	audience, err := s.narrowed(code.Audience, r.Form["resource"])
	if err != nil {
		return nil, err
	}
	g, refresh, err := s.begin(c, code.Subject, code.Scopes, code.Audience, code.AuthTime)
	if err != nil {
		return nil, err
	}
	if err := s.flows.Redeemed(r.Data.Code, g.ID); err != nil {
		return nil, s.replayed(ctx, c, g.ID)
	}
	g.Audience = audience // of this token; the login keeps its own
	return s.answer(c, g, refresh, g.Scopes, code.Nonce)
}

// replayed ends the login of an authorization code that was used twice, and returns the error of that use.
func (s *server) replayed(ctx context.Context, c client, login string) error {
	s.log.WarnContext(ctx, "an authorization code was used twice; its login has been ended", "client", c.ID)
	if err := s.grants.End(login); err != nil {
		return oidc.ErrServerError().WithParent(err)
	}
	return wrongCode()
}

// DeviceAuthorization implements op.Server.
func (s *server) DeviceAuthorization(_ context.Context, r *op.ClientRequest[oidc.DeviceAuthorizationRequest]) (*op.Response, error) {
	c := s.client(r.Client)
	if !c.Allows(account.Device) {
		return nil, oidc.ErrUnauthorizedClient().WithDescription("the client may not use the device flow")
	}
	audience, err := s.audienceOf(c, r.Form["resource"])
	if err != nil {
		return nil, oidc.ErrInvalidTarget().WithDescription("the client may not request this resource")
	}
	deviceCode, userCode, err := s.flows.BeginDevice(flow.Device{Client: c.ID, Scopes: c.allowed(r.Data.Scopes), Audience: audience})
	if err != nil {
		return nil, op.NewStatusError(oidc.ErrServerError().WithDescription("too many logins are under way"), http.StatusServiceUnavailable)
	}
	return op.NewResponse(oidc.DeviceAuthorizationResponse{
		DeviceCode: deviceCode, UserCode: userCode, VerificationURI: s.url + "/device",
		VerificationURIComplete: s.url + "/device?user_code=" + userCode,
		ExpiresIn:               int(flow.DeviceTTL.Seconds()), Interval: int(flow.Interval.Seconds()),
	}), nil
}

// DeviceToken implements op.Server.
func (s *server) DeviceToken(_ context.Context, r *op.ClientRequest[oidc.DeviceAccessTokenRequest]) (*op.Response, error) {
	c := s.client(r.Client)
	d, err := s.flows.Poll(r.Data.DeviceCode, c.ID)
	switch {
	case errors.Is(err, flow.ErrPending):
		return nil, oidc.ErrAuthorizationPending()
	case errors.Is(err, flow.ErrSlowDown):
		return nil, oidc.ErrSlowDown()
	case errors.Is(err, flow.ErrDenied):
		return nil, oidc.ErrAccessDenied()
	case err != nil:
		return nil, oidc.ErrExpiredDeviceCode()
	}
	g, refresh, err := s.begin(c, d.Subject, d.Scopes, d.Audience, d.AuthTime)
	if err != nil {
		return nil, err
	}
	return s.answer(c, g, refresh, g.Scopes, "")
}

// RefreshToken implements op.Server.
func (s *server) RefreshToken(ctx context.Context, r *op.ClientRequest[oidc.RefreshTokenRequest]) (*op.Response, error) {
	c := s.client(r.Client)
	owner, err := s.grants.Owner(r.Data.RefreshToken, c.ID)
	if err == nil && !within(r.Data.Scopes, owner.Scopes) { // before the token is replaced
		return nil, oidc.ErrInvalidScope().WithDescription("a refresh may not add scopes")
	}
	audience, narrow := s.narrowed(owner.Audience, r.Form["resource"])
	if err == nil && narrow != nil {
		return nil, narrow
	}
	g, refresh, err := rotate(s.grants, c, r.Data.RefreshToken)
	switch {
	case errors.Is(err, grant.ErrReused):
		s.log.WarnContext(ctx, "a refresh token was used twice; its login has been ended", "client", c.ID, "subject", owner.Subject)
		return nil, oidc.ErrInvalidGrant().WithDescription("the refresh token is not valid, or no longer")
	case errors.Is(err, grant.ErrInvalid):
		return nil, oidc.ErrInvalidGrant().WithDescription("the refresh token is not valid, or no longer")
	case err != nil:
		return nil, oidc.ErrServerError().WithParent(err)
	}
	scopes := g.Scopes
	if len(r.Data.Scopes) > 0 {
		scopes = r.Data.Scopes
	}
	g.Audience = audience
	return s.answer(c, g, refresh, scopes, "")
}

// rotate replaces a refresh token, except one that a client got by exchange. That one is of no use without the client's secret; it stays,
// so that the client does not lose it with an answer that does not arrive.
func rotate(grants *grant.Store, c client, refresh string) (grant.Grant, string, error) {
	if g, err := grants.Owner(refresh, c.ID); err == nil && g.Parent != "" {
		return g, "", nil
	}
	return grants.Rotate(refresh, c.ID)
}

// ClientCredentialsExchange implements op.Server.
func (s *server) ClientCredentialsExchange(_ context.Context, r *op.ClientRequest[oidc.ClientCredentialsRequest]) (*op.Response, error) {
	c := s.client(r.Client)
	audience, err := s.audienceOf(c, r.Form["resource"])
	if err != nil {
		return nil, oidc.ErrInvalidTarget().WithDescription("the client may not request this resource")
	}
	scopes := c.allowed(r.Data.Scope)
	access, err := s.signer.Access(token.Access{
		RegisteredClaims: jwt.RegisteredClaims{Subject: c.ID, Audience: audience}, ClientID: c.ID, Scope: strings.Join(scopes, " "),
		Tenant: c.Tenant, Roles: c.Roles,
	}, s.cfg.AccessTokenTTL)
	if err != nil {
		return nil, oidc.ErrServerError().WithParent(err)
	}
	return op.NewResponse(&oidc.AccessTokenResponse{
		AccessToken: access, TokenType: oidc.BearerToken, ExpiresIn: seconds(s.cfg.AccessTokenTTL), Scope: scopes,
	}), nil
}

// begin records a login.
func (s *server) begin(c client, subject string, scopes, audience []string, authTime time.Time) (grant.Grant, string, error) {
	g, refresh, err := s.grants.Begin(grant.Grant{
		Client: c.ID, Subject: subject, Scopes: scopes, Audience: audience, AuthTime: authTime, Expires: s.now().Add(s.cfg.RefreshTokenTTL),
	}, c.Allows(account.Refresh) && slices.Contains(scopes, oidc.ScopeOfflineAccess))
	if err != nil {
		return g, "", oidc.ErrServerError().WithParent(err)
	}
	return g, refresh, nil
}

// answer returns the tokens of a login.
func (s *server) answer(c client, g grant.Grant, refresh string, scopes []string, nonce string) (*op.Response, error) {
	u, ok := s.accounts.User(g.Subject)
	if !ok { // removed from the configuration since the login
		return nil, errors.Join(oidc.ErrInvalidGrant().WithDescription("the user no longer exists"), s.grants.End(g.ID))
	}
	ttl := min(s.cfg.AccessTokenTTL, g.Expires.Sub(s.now()))
	access, err := s.signer.Access(token.Access{
		RegisteredClaims: jwt.RegisteredClaims{Subject: u.Name, Audience: g.Audience}, ClientID: c.ID, Scope: strings.Join(scopes, " "),
		Session: g.ID, Username: u.Name, Tenant: u.Tenant, Roles: u.Roles, Extra: u.Claims,
	}, ttl)
	if err != nil {
		return nil, oidc.ErrServerError().WithParent(err)
	}
	resp := &oidc.AccessTokenResponse{
		AccessToken: access, TokenType: oidc.BearerToken, RefreshToken: refresh, ExpiresIn: seconds(ttl), Scope: scopes,
	}
	if slices.Contains(scopes, oidc.ScopeOpenID) {
		id := token.ID{
			RegisteredClaims: jwt.RegisteredClaims{Subject: u.Name}, Nonce: nonce, Session: g.ID, AuthTime: jwt.NewNumericDate(g.AuthTime),
			AMR: []string{"pwd"}, Username: u.Name, Tenant: u.Tenant, Roles: u.Roles, Extra: u.Claims,
		}
		if resp.IDToken, err = s.signer.ID(id, c.ID, access, ttl); err != nil {
			return nil, oidc.ErrServerError().WithParent(err)
		}
	}
	return op.NewResponse(resp), nil
}

func seconds(d time.Duration) uint64 { return uint64(max(0, d.Seconds())) }

// within reports whether all of some scopes are among others.
func within(some, others []string) bool {
	return !slices.ContainsFunc(some, func(s string) bool { return !slices.Contains(others, s) })
}
