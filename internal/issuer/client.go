package issuer

import (
	"net/url"
	"slices"
	"time"

	"github.com/zitadel/oidc/v3/pkg/oidc"
	"github.com/zitadel/oidc/v3/pkg/op"

	"github.com/windlass-dev/windlass/internal/issuer/account"
	"github.com/windlass-dev/windlass/internal/issuer/registration"
	"github.com/windlass-dev/windlass/libs/authn"
)

// client is what the protocol's library asks about a client.
type client struct {
	account.Client
	// registered is set for a client that has registered itself.
	registered *registration.Client
}

var _ op.Client = client{}

func (c client) GetID() string                    { return c.ID }
func (c client) RedirectURIs() []string           { return c.Redirects }
func (c client) PostLogoutRedirectURIs() []string { return c.Redirects }
func (c client) ResponseTypes() []oidc.ResponseType {
	return []oidc.ResponseType{oidc.ResponseTypeCode}
}
func (c client) LoginURL(id string) string            { return "/login?id=" + url.QueryEscape(id) }
func (c client) AccessTokenType() op.AccessTokenType  { return op.AccessTokenTypeJWT }
func (c client) IDTokenLifetime() time.Duration       { return 0 } // ID tokens are made by the issuer, not by the library
func (c client) DevMode() bool                        { return false }
func (c client) IsScopeAllowed(scope string) bool     { return slices.Contains(c.Scopes, scope) }
func (c client) IDTokenUserinfoClaimsAssertion() bool { return false }
func (c client) ClockSkew() time.Duration             { return 0 }

// ApplicationType is that of programs on the user's machine, whose redirects may have any port (RFC 8252, section 7.3). The console is one
// of them, although it has a secret.
func (c client) ApplicationType() op.ApplicationType { return op.ApplicationTypeNative }

func (c client) AuthMethod() oidc.AuthMethod {
	if c.Public {
		return oidc.AuthMethodNone
	}
	return oidc.AuthMethodBasic
}

func (c client) GrantTypes() []oidc.GrantType {
	var all []oidc.GrantType
	for _, g := range c.Grants {
		all = append(all, oidc.GrantType(g))
	}
	return all
}

func (c client) RestrictAdditionalAccessTokenScopes() func([]string) []string { return c.allowed }

//nolint:revive // the library's name
func (c client) RestrictAdditionalIdTokenScopes() func([]string) []string { return c.allowed }

// allowed drops the scopes that the client may not request.
func (c client) allowed(scopes []string) []string {
	var all []string
	for _, s := range scopes {
		if c.IsScopeAllowed(s) && !slices.Contains(all, s) {
			all = append(all, s)
		}
	}
	return all
}

// redirects reports whether a URI is one of the client's. The library unescapes it before it compares, and ignores more than the port.
func (c client) redirects(uri string) bool {
	return slices.ContainsFunc(c.Redirects, func(own string) bool { return own == uri || loopbackPort(own, uri) })
}

// loopbackPort reports whether a URI is a registered one of this machine but for its port (RFC 8252 section 7.3).
func loopbackPort(own, uri string) bool {
	o, err := url.Parse(own)
	if err != nil || o.Scheme != "http" || o.Port() != "" || !authn.LoopbackName(o.Hostname()) {
		return false
	}
	u, err := url.Parse(uri)
	if err != nil || u.Port() == "" || u.Hostname() != o.Hostname() {
		return false
	}
	o.Host = u.Host
	return o.String() == uri
}
