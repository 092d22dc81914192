// Package connection connects users to sources with a login of their own: OAuth 2 authorization codes with PKCE (RFC 6749, 7636, 9700). A
// user begins an attempt, consents in a browser, and logs in at the authorization server, whose response comes back to the gateway. The
// tokens are stored encrypted, and refreshed by one replica at a time.
package connection

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"time"

	"golang.org/x/sync/singleflight"

	"github.com/windlass-dev/windlass/libs/egress"
	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/ids"
	"github.com/windlass-dev/windlass/libs/secret"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	"github.com/windlass-dev/windlass/services/policy/connection/discovery"
	"github.com/windlass-dev/windlass/services/policy/connection/store"
)

const (
	// Lifetime is how long an attempt may take.
	Lifetime = 10 * time.Minute
	// CallbackPath is the path of the redirect URI at the gateway, ClientPath that of the document about this client.
	CallbackPath = "/connect/callback"
	ClientPath   = "/connect/client.json"

	// timeout bounds a request to an authorization server, maxDocument its response in bytes.
	timeout     = 10 * time.Second
	maxDocument = 256 << 10
)

// Config configures connections.
type Config struct {
	UnknownBrowsers bool `yaml:"unknown_browsers" doc:"Whether the page on which users consent to a connection may be opened in a browser that is not logged in here. Another person who is made to open its address, and goes on in spite of its text, connects their own account at the source to the user who began."`
	// URL is where browsers find the gateway; the assembly sets it.
	URL string `yaml:"-"`
}

// Login is how users log in at a source.
type Login struct {
	// SourceID and Source identify the source, Target is a digest of where it is.
	SourceID, Source, Target string
	// Destination is the origin that tokens are sent to, ServerURL an MCP server that may say itself how users log in.
	Destination, ServerURL string
	// Wanted is false if the source does not want a login of each user.
	Wanted bool
	// Stored is what the source's definition says.
	Stored store.Login
}

// Logins says how users log in at sources.
type Logins interface {
	// Login returns that of a source by name or ID; a NOT_FOUND fault.
	Login(ctx context.Context, tenant, source string) (Login, error)
}

// Secrets has stored secrets.
type Secrets interface {
	// Value returns a secret of a tenant that a reference names.
	Value(ctx context.Context, tenant, reference string) (secret.Value, error)
}

// Dialer returns HTTP clients; *egress.Egress is one.
type Dialer interface {
	Client(opts egress.Options) *http.Client
}

// Notice is notified of new connections.
type Notice interface {
	// Connected says that a user has connected a source: what waits for that may go on.
	Connected(ctx context.Context, tenant, subject, source string) error
}

// Deps holds the dependencies of Connections; all but Notice are required.
type Deps struct {
	Store   *store.Store
	Logins  Logins
	Secrets Secrets
	Egress  Dialer
	Notice  Notice
	Log     *slog.Logger
}

// Connections connects users. It is safe for concurrent use.
type Connections struct {
	cfg    Config
	deps   Deps
	owner  string // of refreshes
	flight singleflight.Group
	found  discovery.Client
}

// New returns Connections.
func New(cfg Config, deps Deps) (*Connections, error) {
	if deps.Store == nil || deps.Logins == nil || deps.Secrets == nil || deps.Egress == nil || deps.Log == nil {
		return nil, errors.New("connections need Store, Logins, Secrets, Egress and Log")
	}
	return &Connections{
		cfg: cfg, deps: deps, owner: ids.New(ids.Lease),
		found: discovery.Client{HTTP: deps.Egress.Client(egress.Options{Timeout: timeout, MaxResponseBytes: maxDocument, Once: true})},
	}, nil
}

// ConnectURL is where a user connects a source. It holds no secrets.
func (c *Connections) ConnectURL(source, subject string) string {
	return strings.TrimSuffix(c.cfg.URL, "/") + "/connect?" + url.Values{"source": {source}, "user": {subject}}.Encode()
}

// Required is the fault of a call for a user without a usable connection.
func (c *Connections) Required(source, subject, why string) error {
	return fault.AuthorizationRequired(source, fault.Connection, c.ConnectURL(source, subject), "%s", why)
}

func (c *Connections) redirect() string { return strings.TrimSuffix(c.cfg.URL, "/") + CallbackPath }

// random returns a secret of 256 bits, and what is stored of it.
func random() (value, hash string) {
	var raw [32]byte
	_, _ = rand.Read(raw[:]) // documented never to fail
	value = base64.RawURLEncoding.EncodeToString(raw[:])
	return value, digest(value)
}

// digest is what is stored of a secret of 256 bits.
func digest(value string) string {
	sum := sha256.Sum256([]byte(value))
	return hex.EncodeToString(sum[:])
}

func precondition(format string, args ...any) *fault.Error {
	return fault.FailedPrecondition(faultv1.Reason_REASON_FAILED_PRECONDITION, format, args...)
}

// Host is the host of a URL, for people.
func Host(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return u.Host
}

// Origin is scheme and host of a URL; empty if it has none.
func Origin(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return ""
	}
	return u.Scheme + "://" + u.Host
}

// detached is a context that does not end with the caller's, but soon.
func detached(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), 2*timeout)
}

// List returns connections of a user.
func (c *Connections) List(ctx context.Context, tenant, subject string, after store.After, limit int) ([]store.Connection, error) {
	return c.deps.Store.List(ctx, tenant, subject, after, limit)
}

// Get returns a user's connection; a NOT_FOUND fault.
func (c *Connections) Get(ctx context.Context, tenant, subject, source string) (store.Connection, error) {
	found, err := c.deps.Store.Named(ctx, tenant, subject, source)
	if errors.Is(err, store.ErrNotFound) {
		return found, fault.NotFound("you have no connection to %q", source).Hint("Connect it: windlass connection create %s", source)
	}
	if err != nil {
		return found, fmt.Errorf("read connection: %w", err)
	}
	return found, nil
}
