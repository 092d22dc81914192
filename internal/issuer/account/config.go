// Package account holds the users and clients of the built-in issuer, and keeps their generated passwords in the data directory.
package account

import (
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"time"

	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/secret"
)

// Off as the address means that no issuer is started.
const Off = "off"

// ConsoleClient is the client of the gateway, at which browsers log in.
const ConsoleClient = "windlass-console"

// Audience is what tokens for the mesh are addressed to.
const Audience = "windlass"

// MeshClient is the client with which the mesh exchanges tokens.
const MeshClient = "windlass-mesh"

// Grant types of clients.
const (
	Code              = "authorization_code"
	Device            = "urn:ietf:params:oauth:grant-type:device_code"
	Refresh           = "refresh_token"
	ClientCredentials = "client_credentials"
	Exchange          = "urn:ietf:params:oauth:grant-type:token-exchange"
)

// Config configures the issuer that windlass up runs.
type Config struct {
	Addr string `yaml:"addr" default:"127.0.0.1:8089" doc:"Loopback address of the issuer that windlass up runs; port 0 picks a free one, off runs none. It is part of the issuer's name: tokens are valid as long as it stays the same. Not run if identity.issuers names issuers."`
	// AccessTokenTTL bounds how long a logged-out user can still call the mesh.
	AccessTokenTTL  time.Duration `yaml:"access_token_ttl" default:"10m" doc:"How long access tokens of the built-in issuer are valid."`
	RefreshTokenTTL time.Duration `yaml:"refresh_token_ttl" default:"720h" doc:"How long a login at the built-in issuer lasts; refreshing does not extend it."`
	RegisterClients bool          `yaml:"register_clients" default:"true" doc:"Programs on this machine may register themselves as clients of the built-in issuer, as MCP clients do: by RFC 7591, or with the https URL of a document about them as client_id. They get tokens for endpoints of this mesh only, after a user has logged in for them."`
	Users           []User        `yaml:"users" doc:"Users of the built-in issuer, instead of alice, bob, admin and carol."`
	Audiences       []string      `yaml:"audiences" default:"orders" doc:"Audiences for which the mesh may exchange its users' tokens at the built-in issuer: those of sources with auth kind exchange."`
	Clients         []Client      `yaml:"clients" doc:"Clients of the built-in issuer; one with the id of a default client replaces it."`
}

// User is a person who can log in.
type User struct {
	Name     string            `yaml:"name" json:"name" doc:"Name to log in with; also the subject of the user's tokens."`
	Password secret.Value      `yaml:"password" json:"-" doc:"Password. Empty: one is generated and kept in the data directory."`
	Tenant   string            `yaml:"tenant" json:"tenant" doc:"Tenant of the user; empty: default."`
	Roles    []string          `yaml:"roles" json:"roles" doc:"Roles, as used in policy rules."`
	Claims   map[string]string `yaml:"claims" json:"claims,omitempty" doc:"Further claims of the user's tokens, such as department."`
}

// Client is a program that gets tokens.
type Client struct {
	ID     string       `yaml:"id" json:"id" doc:"Client id."`
	Secret secret.Value `yaml:"secret" json:"-" doc:"Secret of a confidential client. Empty: one is generated and kept in the data directory."`
	Public bool         `yaml:"public" json:"public,omitempty" doc:"The client cannot keep a secret; it must use PKCE."`
	Grants []string     `yaml:"grants" json:"grants" doc:"Grant types that the client may use."`
	// Redirects are exact, except for the port of a loopback address.
	Redirects         []string `yaml:"redirects" json:"redirects,omitempty" doc:"Redirect URIs, also of a logout. They are compared exactly, except that a loopback address without a port allows any port."`
	Scopes            []string `yaml:"scopes" json:"scopes,omitempty" doc:"Scopes that the client may request."`
	Audiences         []string `yaml:"audiences" json:"audiences,omitempty" doc:"Audiences (RFC 8707 resources) of the client's tokens; the first one is used if a request names none."`
	ExchangeAudiences []string `yaml:"exchange_audiences" json:"exchange_audiences,omitempty" doc:"Audiences for which the client may exchange tokens that are addressed to one of its audiences."`
	Tenant            string   `yaml:"tenant" json:"tenant,omitempty" doc:"Tenant of the client when it acts for itself; empty: default."`
	Roles             []string `yaml:"roles" json:"roles,omitempty" doc:"Roles of the client when it acts for itself."`
}

// Allows reports whether the client may use a grant type.
func (c Client) Allows(grant string) bool { return slices.Contains(c.Grants, grant) }

func defaultUsers() []User {
	return []User{
		{Name: "alice", Tenant: authn.DefaultTenant, Roles: []string{"user"}, Claims: map[string]string{"department": "finance"}},
		{Name: "bob", Tenant: authn.DefaultTenant, Roles: []string{"user"}, Claims: map[string]string{"department": "engineering"}},
		{Name: "admin", Tenant: authn.DefaultTenant, Roles: []string{"admin", "user"}, Claims: map[string]string{"department": "it"}},
		{Name: "carol", Tenant: "acme", Roles: []string{"admin", "user"}, Claims: map[string]string{"department": "finance"}},
	}
}

// LoginScopes are the scopes of a client that users log in with.
func LoginScopes() []string { return []string{"openid", "profile", "offline_access"} }

func defaultClients(audiences []string) []Client {
	login := LoginScopes()
	// By its address: a name may be resolved to another interface (RFC 8252, 8.3).
	loopback := []string{"http://127.0.0.1/callback"}
	return []Client{
		{
			ID: "windlass-cli", Public: true, Grants: []string{Device, Code, Refresh}, Redirects: loopback, Scopes: login,
			Audiences: []string{Audience},
		},
		{
			ID: MeshClient, Grants: []string{Exchange, Refresh}, Scopes: login, Audiences: []string{Audience},
			ExchangeAudiences: audiences,
		},
		{
			ID: ConsoleClient, Grants: []string{Code, Refresh}, Scopes: login, Audiences: []string{Audience},
			Redirects: []string{
				"http://127.0.0.1/login/callback", "http://localhost/login/callback", "http://127.0.0.1/", "http://localhost/",
			},
		},
		{
			ID: "robot", Grants: []string{ClientCredentials}, Scopes: []string{"profile"}, Audiences: []string{Audience},
			Tenant: authn.DefaultTenant, Roles: []string{"user"},
		},
	}
}

// complete adds the default users and clients.
func (c Config) complete() Config {
	if len(c.Users) == 0 {
		c.Users = defaultUsers()
	}
	c.Users, c.Clients = slices.Clone(c.Users), slices.Clone(c.Clients)
	for _, d := range defaultClients(c.Audiences) {
		if !slices.ContainsFunc(c.Clients, func(own Client) bool { return own.ID == d.ID }) {
			c.Clients = append(c.Clients, d)
		}
	}
	for i := range c.Users {
		if c.Users[i].Tenant == "" {
			c.Users[i].Tenant = authn.DefaultTenant
		}
	}
	for i := range c.Clients {
		if c.Clients[i].Tenant == "" {
			c.Clients[i].Tenant = authn.DefaultTenant
		}
	}
	return c
}

// names of users and clients are in file names, logs and token ids: nothing that would need escaping.
var name = regexp.MustCompile(`^[a-zA-Z0-9][a-zA-Z0-9_@-]{0,63}$`)

// reserved claims belong to the issuer.
var reserved = []string{
	"iss", "sub", "aud", "exp", "iat", "nbf", "jti", "act", "azp", "sid", "nonce", "scope", "client_id", "token_use", "auth_time", "amr",
	"acr", "at_hash", "tenant", "roles", "preferred_username", "cnf", "may_act",
}

func (c Config) check() error {
	if c.AccessTokenTTL < time.Second || c.RefreshTokenTTL < c.AccessTokenTTL {
		return errors.New("identity.issuer: access_token_ttl must be at least 1s, and refresh_token_ttl at least that")
	}
	seen := map[string]bool{}
	for _, u := range c.Users {
		if !name.MatchString(u.Name) || seen[u.Name] {
			return fmt.Errorf("identity.issuer.users: name %q is not valid, or not unique", u.Name)
		}
		seen[u.Name] = true
		for claim := range u.Claims {
			if slices.Contains(reserved, claim) {
				return fmt.Errorf("identity.issuer.users: claim %q of %s is set by the issuer; choose another name", claim, u.Name)
			}
		}
	}
	for _, cl := range c.Clients {
		if !name.MatchString(cl.ID) || seen[cl.ID] {
			return fmt.Errorf("identity.issuer.clients: id %q is not valid, or also that of a user or of another client", cl.ID)
		}
		seen[cl.ID] = true
		if err := cl.check(); err != nil {
			return fmt.Errorf("identity.issuer.clients: %s: %w", cl.ID, err)
		}
	}
	return nil
}

func (c Client) check() error {
	known := []string{Code, Device, Refresh, ClientCredentials, Exchange}
	for _, g := range c.Grants {
		if !slices.Contains(known, g) {
			return fmt.Errorf("grant %q is none of %q", g, known)
		}
	}
	switch {
	case len(c.Audiences) == 0:
		return errors.New("at least one audience is needed")
	case c.Public && (c.Allows(ClientCredentials) || c.Allows(Exchange)):
		return errors.New("a public client can neither act for itself nor exchange tokens")
	case c.Public && !c.Secret.IsZero():
		return errors.New("a public client has no secret")
	case slices.Contains(c.ExchangeAudiences, "") || slices.Contains(c.Audiences, ""):
		return errors.New("an audience must not be empty")
	}
	for _, r := range c.Redirects {
		if u, err := url.Parse(r); err != nil || u.Scheme == "" || u.Host == "" || u.Fragment != "" || u.User != nil {
			return fmt.Errorf("redirect %q: want an absolute URI without fragment", r)
		}
	}
	return nil
}
