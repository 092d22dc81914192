package issuer

import (
	"context"
	"net/url"
	"slices"

	"github.com/zitadel/oidc/v3/pkg/oidc"
	"github.com/zitadel/oidc/v3/pkg/op"

	"github.com/windlass-dev/windlass/internal/issuer/account"
	"github.com/windlass-dev/windlass/internal/issuer/flow"
)

// server answers requests that the library has parsed. Methods that it does not have are refused by UnimplementedServer.
type server struct {
	op.UnimplementedServer
	*Issuer
}

var _ op.Server = (*server)(nil)

// Health implements op.Server.
func (s *server) Health(context.Context, *op.Request[struct{}]) (*op.Response, error) {
	return op.NewResponse(op.Status{Status: "ok"}), nil
}

// Ready implements op.Server.
func (s *server) Ready(context.Context, *op.Request[struct{}]) (*op.Response, error) {
	return op.NewResponse(op.Status{Status: "ok"}), nil
}

// Keys implements op.Server.
func (s *server) Keys(context.Context, *op.Request[struct{}]) (*op.Response, error) {
	return op.NewResponse(s.signer.Keys()), nil
}

// metadata adds to the library's document what it lacks.
type metadata struct {
	*oidc.DiscoveryConfiguration
	IssParameter bool `json:"authorization_response_iss_parameter_supported"`
	Documents    bool `json:"client_id_metadata_document_supported,omitempty"`
}

// Discovery implements op.Server.
func (s *server) Discovery(context.Context, *op.Request[struct{}]) (*op.Response, error) {
	e, register := endpoints(), ""
	if s.registered != nil {
		register = s.url + registerPath
	}
	confidential := []oidc.AuthMethod{oidc.AuthMethodBasic, oidc.AuthMethodPost}
	return op.NewResponse(metadata{IssParameter: true, Documents: s.registered != nil, DiscoveryConfiguration: &oidc.DiscoveryConfiguration{
		Issuer:                 s.url,
		AuthorizationEndpoint:  e.Authorization.Absolute(s.url),
		TokenEndpoint:          e.Token.Absolute(s.url),
		IntrospectionEndpoint:  e.Introspection.Absolute(s.url),
		UserinfoEndpoint:       e.Userinfo.Absolute(s.url),
		RevocationEndpoint:     e.Revocation.Absolute(s.url),
		EndSessionEndpoint:     e.EndSession.Absolute(s.url),
		JwksURI:                e.JwksURI.Absolute(s.url),
		RegistrationEndpoint:   register,
		ScopesSupported:        account.LoginScopes(),
		ResponseTypesSupported: []string{string(oidc.ResponseTypeCode)},
		ResponseModesSupported: []string{string(oidc.ResponseModeQuery)},
		GrantTypesSupported: []oidc.GrantType{
			oidc.GrantTypeCode, oidc.GrantTypeRefreshToken, oidc.GrantTypeDeviceCode, oidc.GrantTypeClientCredentials,
			oidc.GrantTypeTokenExchange,
		},
		SubjectTypesSupported:                     []string{"public"},
		IDTokenSigningAlgValuesSupported:          []string{"RS256"},
		TokenEndpointAuthMethodsSupported:         append(slices.Clone(confidential), oidc.AuthMethodNone),
		RevocationEndpointAuthMethodsSupported:    append(slices.Clone(confidential), oidc.AuthMethodNone),
		IntrospectionEndpointAuthMethodsSupported: confidential,
		CodeChallengeMethodsSupported:             []oidc.CodeChallengeMethod{oidc.CodeChallengeMethodS256},
		DeviceAuthorizationEndpoint:               e.DeviceAuthorization.Absolute(s.url),
		ClaimsSupported: []string{
			"iss", "sub", "aud", "exp", "iat", "auth_time", "nonce", "preferred_username", "tenant", "roles", "act", "sid",
		},
	}}), nil
}

// VerifyClient implements op.Server.
func (s *server) VerifyClient(_ context.Context, r *op.Request[op.ClientCredentials]) (op.Client, error) {
	return s.verify(r.Data)
}

// verify returns a client that has shown its secret, or a public one that claims to have none.
func (s *server) verify(cc *op.ClientCredentials) (client, error) {
	if c, ok := s.known(cc.ClientID); ok && c.Public && cc.ClientSecret == "" && cc.ClientAssertion == "" {
		return c, nil
	}
	if c, ok := s.accounts.Authenticate(cc.ClientID, cc.ClientSecret); ok && cc.ClientAssertion == "" {
		return client{Client: c}, nil
	}
	return client{}, op.NewStatusError(oidc.ErrInvalidClient().WithDescription("unknown client, or wrong secret"), 401)
}

// VerifyAuthRequest implements op.Server.
func (s *server) VerifyAuthRequest(ctx context.Context, r *op.Request[oidc.AuthRequest]) (*op.ClientRequest[oidc.AuthRequest], error) {
	if r.Data.RequestParam != "" || r.Form.Has("request_uri") {
		return nil, oidc.ErrRequestNotSupported()
	}
	c, ok := s.introduced(ctx, r.Data.ClientID)
	if !ok || !c.Allows(account.Code) {
		return nil, oidc.ErrInvalidRequest().WithDescription("client_id is unknown, or may not use this flow")
	}
	if !c.redirects(r.Data.RedirectURI) {
		return nil, oidc.ErrInvalidRequestRedirectURI().WithDescription("redirect_uri is none of the client's")
	}
	r.Data.Scopes = c.requested(r.Data.Scopes)
	return &op.ClientRequest[oidc.AuthRequest]{Request: r, Client: c}, nil
}

// Authorize implements op.Server. The redirect URI is the client's by now, so that errors go there.
func (s *server) Authorize(_ context.Context, r *op.ClientRequest[oidc.AuthRequest]) (*op.Redirect, error) {
	c, refuse := s.client(r.Client), func(e *oidc.Error) (*op.Redirect, error) {
		return op.NewRedirect(s.reply(r.Data.RedirectURI, url.Values{
			"error": {string(e.ErrorType)}, "error_description": {e.Description}, "state": {r.Data.State},
		})), nil
	}
	switch {
	case r.Data.ResponseMode != "" && r.Data.ResponseMode != oidc.ResponseModeQuery:
		return refuse(oidc.ErrInvalidRequest().WithDescription("response_mode must be query"))
	case r.Data.CodeChallenge == "" || r.Data.CodeChallengeMethod != oidc.CodeChallengeMethodS256:
		return refuse(oidc.ErrInvalidRequest().WithDescription("PKCE with S256 is required"))
	case slices.Contains(r.Data.Prompt, oidc.PromptNone):
		return refuse(oidc.ErrLoginRequired())
	}
	audience, err := s.audienceOf(c, r.Form["resource"])
	if err != nil {
		return refuse(oidc.ErrInvalidTarget().WithDescription("the client may not request this resource"))
	}
	id, err := s.flows.Begin(flow.Request{
		Client: c.ID, Scopes: c.allowed(r.Data.Scopes), Audience: audience, Redirect: r.Data.RedirectURI, State: r.Data.State,
		Nonce: r.Data.Nonce, Challenge: r.Data.CodeChallenge,
	})
	if err != nil {
		return refuse(oidc.ErrServerError().WithDescription("too many logins are under way; try again in a few minutes"))
	}
	return op.NewRedirect(c.LoginURL(id)), nil
}

// reply returns a redirect URI with the parameters of a response, iss among them (RFC 9207).
func (i *Issuer) reply(redirect string, params url.Values) string {
	u, err := url.Parse(redirect)
	if err != nil {
		return i.url // registered URIs parse
	}
	q := u.Query()
	for k, v := range params {
		if len(v) > 0 && v[0] != "" {
			q[k] = v
		}
	}
	q.Set("iss", i.url)
	u.RawQuery = q.Encode()
	return u.String()
}

// client returns our view of a client that the library passes back.
func (s *server) client(c op.Client) client {
	own, _ := s.known(c.GetID())
	return own
}
