// Package bff logs browsers in at an OpenID Connect provider, for the gateway. The tokens stay on the server: a browser gets a cookie with
// a random secret, and each of its requests is made with the access token of the login that the secret names.
package bff

import (
	"crypto/hkdf"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/sync/singleflight"

	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/seal"
	"github.com/windlass-dev/windlass/libs/secret"
	loginv1 "github.com/windlass-dev/windlass/proto/gen/windlass/login/v1"
)

// Config configures the login of browsers.
type Config struct {
	// Issuer is one of the accepted issuers.
	Issuer       string        `yaml:"issuer" doc:"URL of the OpenID Connect provider at which browsers log in, one of identity.issuers. Its access tokens must be JWTs that the mesh accepts. Empty: browsers cannot log in. windlass up names its own issuer."`
	ClientID     string        `yaml:"client_id" doc:"Client id of the gateway at the provider, which must allow the authorization code flow, the redirect URI gateway.url + /login/callback, and gateway.url + / after a logout."`
	ClientSecret secret.Value  `yaml:"client_secret" doc:"Secret of the client. Empty: a public client, which is protected by PKCE alone."`
	Scopes       []string      `yaml:"scopes" default:"openid,profile,offline_access" doc:"Scopes to request. With offline_access, or a provider that always sends refresh tokens, a login lasts longer than one access token."`
	Audience     string        `yaml:"audience" doc:"Value of the parameter audience of a login, for providers that need it to address access tokens to the mesh."`
	MaxAge       time.Duration `yaml:"max_age" default:"24h" doc:"How long a login of a browser lasts, at most; refreshing does not extend it."`
}

// Enabled reports whether browsers can log in.
func (c Config) Enabled() bool { return c.Issuer != "" }

// Deps holds what logins need. All fields are required.
type Deps struct {
	// URL is where browsers find the gateway.
	URL string
	// Logins keeps the logins. Calls are made as the gateway itself.
	Logins loginv1.LoginServiceClient
	// Key is shared by all gateways; the tokens are encrypted with a key derived from it.
	Key secret.Value
	// Client calls the issuer. It must bound time and size of responses.
	Client *http.Client
	// Authenticator decides whether a new token is accepted at all.
	Authenticator *authn.Authenticator
	Log           *slog.Logger
}

// BFF serves logins. It is safe for concurrent use.
type BFF struct {
	cfg    Config
	deps   Deps
	base   *url.URL
	names  cookieNames
	box    *seal.Box
	strict *http.CrossOriginProtection
	// refreshing has one refresh of a login at a time in this process; leases of the store do that among processes.
	refreshing singleflight.Group
	background sync.WaitGroup

	mu       sync.Mutex
	provider *provider
}

// New returns a BFF. It makes no calls: the issuer may start later.
func New(cfg Config, deps Deps) (*BFF, error) {
	base, err := url.Parse(deps.URL)
	switch {
	case err != nil || base.Host == "":
		return nil, errors.New("gateway.login needs gateway.url, to which the issuer sends browsers back")
	case base.Scheme != "https" && !authn.LoopbackName(base.Host):
		return nil, fmt.Errorf("gateway.login: with gateway.url %s, the cookies of logins could be read on the way: use https", base)
	case cfg.ClientID == "":
		return nil, errors.New("gateway.login.client_id is missing")
	case !slices.Contains(cfg.Scopes, oidc.ScopeOpenID):
		return nil, errors.New("gateway.login.scopes must contain openid")
	case cfg.MaxAge < time.Minute:
		return nil, errors.New("gateway.login.max_age must be at least a minute")
	}
	key, err := hkdf.Key(sha256.New, []byte(deps.Key.Reveal()), nil, "windlass browser login v1", 32)
	if err != nil {
		return nil, fmt.Errorf("derive the key of logins: %w", err)
	}
	b := &BFF{cfg: cfg, deps: deps, base: base, names: namesFor(base), strict: http.NewCrossOriginProtection()}
	if b.box, err = seal.New(secret.New(string(key))); err != nil {
		return nil, fmt.Errorf("key of logins: %w", err)
	}
	return b, nil
}

// Close waits for refreshes under way, which are bounded.
func (b *BFF) Close() { b.background.Wait() }
