// Package bearer verifies the access tokens (JWT) of configured issuers, which are OpenID Connect providers or anything else that publishes
// its keys as a JWKS document.
package bearer

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/secret"
)

// Issuer configures an issuer whose tokens are accepted.
type Issuer struct {
	// Name is the prefix of the issuer's subjects.
	Name          string        `yaml:"name" doc:"Short name of the issuer: lower-case letters, digits and hyphens. Its users have the subject NAME:SUBJECT, so changing the name makes them different users."`
	Issuer        string        `yaml:"issuer" doc:"URL of the issuer, exactly as in the tokens' iss claim."`
	Audiences     []string      `yaml:"audiences" doc:"Audiences of this mesh. A token must name one of them in its aud claim, or the URL of the endpoint that it is sent to, such as https://windlass.example.com/mcp (RFC 8707); it is accepted at that endpoint only."`
	Scopes        []string      `yaml:"scopes" doc:"Scopes that a token must have, in its scope or scp claim; without them calls get 403 and the list, and MCP clients request them at login. Empty: none."`
	JWKSURL       string        `yaml:"jwks_url" doc:"URL of the issuer's keys. Empty: as in ISSUER/.well-known/openid-configuration."`
	AllowHTTP     bool          `yaml:"allow_http" doc:"Fetch keys over http from other hosts than this one. Anyone on the network between can then forge tokens."`
	Algorithms    []string      `yaml:"algorithms" doc:"Signature algorithms that are accepted, of RS256 to RS512, PS256 to PS512, ES256 to ES512 and EdDSA. Empty: RS256 and ES256."`
	SubjectClaim  string        `yaml:"subject_claim" doc:"Claim that names the user, unique and never reassigned; empty: sub. Paths in claims have dots between names, such as realm_access.roles, and \\. for a dot within a name."`
	TenantClaim   string        `yaml:"tenant_claim" doc:"Claim that names the tenant. A token without it is refused. Empty: all users of the issuer belong to the tenant in tenant."`
	Tenant        string        `yaml:"tenant" doc:"Tenant of the issuer's users where tenant_claim is empty; empty: default."`
	Tenants       []string      `yaml:"tenants" doc:"Tenants that tenant_claim may name; empty: any. Set it where an issuer is not trusted with the data of all tenants."`
	RolesClaim    string        `yaml:"roles_claim" doc:"Claim that lists the user's roles, such as realm_access.roles; empty: users have none."`
	Roles         []string      `yaml:"roles" doc:"Globs over the roles that are taken from roles_claim; empty: all. The role admin sees the sessions of all users of its tenant."`
	KeepClaims    []string      `yaml:"keep_claims" doc:"Top-level claims that policy rules can use; empty: all that do not describe the token itself. Together they may take 8 KiB."`
	Introspection Introspection `yaml:"introspection" doc:"Client of the mesh at this issuer, with which it asks whether tokens are still active (RFC 7662), so that revoked ones are refused soon. Empty: tokens are accepted until they expire."`
	Exchange      Exchange      `yaml:"exchange" doc:"Client of the mesh at this issuer, with which it exchanges its users' tokens for tokens that tools accept (RFC 8693). Empty: tools cannot be called as users of this issuer."`
}

// Exchange is the mesh's confidential client at an issuer.
type Exchange struct {
	ClientID     string       `yaml:"client_id" doc:"Client id of the mesh. The client may exchange tokens for the audiences of the sources and, so that turns outlive their user's token, get and use refresh tokens."`
	ClientSecret secret.Value `yaml:"client_secret" doc:"Secret of the client, sent with HTTP basic authentication."`
	TokenURL     string       `yaml:"token_url" doc:"URL of the token endpoint. Empty: as in ISSUER/.well-known/openid-configuration."`
}

// Introspection is the mesh's confidential client that asks an issuer about tokens.
type Introspection struct {
	ClientID     string        `yaml:"client_id" doc:"Client id of the mesh. The issuer must allow the client to introspect tokens that are addressed to the mesh."`
	ClientSecret secret.Value  `yaml:"client_secret" doc:"Secret of the client, sent with HTTP basic authentication."`
	URL          string        `yaml:"url" doc:"URL of the introspection endpoint. Empty: as in ISSUER/.well-known/openid-configuration."`
	MaxAge       time.Duration `yaml:"max_age" doc:"How long an answer about a token is used, in memory only: a revoked token is accepted that much longer. 1s to 10m; empty: 30s."`
	Opaque       bool          `yaml:"opaque" doc:"The issuer's access tokens need not be JWTs: tokens of other forms are sent to its endpoint, whose answer names the user. One issuer at most, since a token does not say whose it is."`
}

// Enabled reports whether the issuer is asked about tokens.
func (i Introspection) Enabled() bool { return i.ClientID != "" }

// age returns how long an answer holds.
func (i Introspection) age() time.Duration { return cmp.Or(i.MaxAge, introspectionAge) }

// check reports what is wrong with the configuration.
func (i Introspection) check(issuer Issuer) error {
	switch {
	case i.Enabled() == i.ClientSecret.IsZero(), !i.Enabled() && (i.URL != "" || i.MaxAge != 0 || i.Opaque):
		return errors.New("client_id and client_secret belong together, and the other settings need them")
	case i.MaxAge != 0 && (i.MaxAge < time.Second || i.MaxAge > maxIntrospectionAge):
		return fmt.Errorf("max_age is %s: use 1s to %s", i.MaxAge, maxIntrospectionAge)
	case i.URL == "":
		return nil
	}
	return issuer.checkURL(i.URL)
}

// Enabled reports whether tokens can be exchanged.
func (e Exchange) Enabled() bool { return e.ClientID != "" }

// algorithms that can be configured. Those with a shared secret and none are missing on purpose.
var algorithms = []string{
	"RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA",
}

var (
	nameForm = regexp.MustCompile(`^[a-z][a-z0-9-]{0,30}$`)
	// scopeForm is that of RFC 6749.
	scopeForm = regexp.MustCompile(`^[!#-\[\]-~]+$`)
)

// check reports what is wrong with the configuration of one issuer.
func (c Issuer) check() error {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if !nameForm.MatchString(c.Name) {
		bad("name %q: use up to 31 lower-case letters, digits and hyphens, starting with a letter", c.Name)
	}
	if err := c.checkURL(c.Issuer); err != nil {
		bad("issuer: %w", err)
	}
	if c.JWKSURL != "" {
		if err := c.checkURL(c.JWKSURL); err != nil {
			bad("jwks_url: %w", err)
		}
	}
	if len(c.Audiences) == 0 || slices.Contains(c.Audiences, "") {
		bad("audiences: name at least one audience")
	}
	for _, scope := range c.Scopes {
		if !scopeForm.MatchString(scope) {
			bad("scopes: %q is no scope: use visible ASCII without spaces, quotes and backslashes", scope)
		}
	}
	if e := c.Exchange; e.ClientID == "" && (!e.ClientSecret.IsZero() || e.TokenURL != "") || e.ClientID != "" && e.ClientSecret.IsZero() {
		bad("exchange: client_id and client_secret belong together")
	}
	if c.Exchange.TokenURL != "" {
		if err := c.checkURL(c.Exchange.TokenURL); err != nil {
			bad("exchange.token_url: %w", err)
		}
	}
	if err := c.Introspection.check(c); err != nil {
		bad("introspection: %w", err)
	}
	for _, a := range c.Algorithms {
		if !slices.Contains(algorithms, a) {
			bad("algorithms: %q is not one of %s", a, strings.Join(algorithms, ", "))
		}
	}
	for _, path := range []string{c.SubjectClaim, c.TenantClaim, c.RolesClaim} {
		if _, err := parsePath(path); err != nil {
			errs = append(errs, err)
		}
	}
	if c.TenantClaim != "" && c.Tenant != "" || c.TenantClaim == "" && len(c.Tenants) > 0 {
		bad("tenant goes without tenant_claim, and tenants goes with it")
	}
	for _, t := range append(slices.Clone(c.Tenants), c.Tenant) {
		if t != "" && !authn.ValidTenant(t) {
			bad("tenant %q: use up to 63 letters, digits, hyphens and underscores", t)
		}
	}
	return errors.Join(errs...)
}

// CheckURL reports what is wrong with the URL of an endpoint of the issuer: it must be encrypted, unless it is on this machine.
func (c Issuer) CheckURL(text string) error { return c.checkURL(text) }

// checkURL reports what is wrong with a URL from which keys are fetched.
func (c Issuer) checkURL(text string) error {
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.User != nil || u.Fragment != "":
		return fmt.Errorf("%q is no http URL", text)
	case u.Scheme == "http" && !c.AllowHTTP && !loopback(u.Hostname()):
		return fmt.Errorf("%q is not encrypted: use https, or set allow_http", text)
	}
	return nil
}
