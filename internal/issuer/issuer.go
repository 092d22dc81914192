// Package issuer is the OIDC issuer that windlass up runs, so that users, tokens and tenants can be tried without an identity provider. Its
// protocol comes from github.com/zitadel/oidc; what is allowed is decided here. It serves this machine only.
package issuer

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"time"

	"github.com/zitadel/oidc/v3/pkg/oidc"
	"github.com/zitadel/oidc/v3/pkg/op"

	"github.com/windlass-dev/windlass/internal/issuer/account"
	"github.com/windlass-dev/windlass/internal/issuer/flow"
	"github.com/windlass-dev/windlass/internal/issuer/grant"
	"github.com/windlass-dev/windlass/internal/issuer/registration"
	"github.com/windlass-dev/windlass/internal/issuer/token"
	"github.com/windlass-dev/windlass/libs/peercred"
	"github.com/windlass-dev/windlass/libs/secret"
)

// oauthMetadata is where RFC 8414 puts the document of an issuer.
const oauthMetadata = "/.well-known/oauth-authorization-server"

// Files of the data directory.
const (
	accountsFile = "accounts.json"
	clientsFile  = "clients.json"
)

// Resources are the endpoints of the mesh for which clients may request tokens (RFC 8707).
type Resources struct {
	// Default is what a client gets that names none.
	Default string
	// Known returns the form of a resource that the mesh compares, and whether it is one.
	Known func(uri string) (canonical string, ok bool)
}

// Options configure an issuer. All but Now are required.
type Options struct {
	Config account.Config
	// Dir keeps keys, accounts and logins.
	Dir string
	// Key signs refresh tokens.
	Key secret.Value
	// Listener is a loopback listener; its address is the issuer's name.
	Listener  net.Listener
	Resources Resources
	// Documents fetches documents about clients. It must bound time and size of responses, and which addresses can be reached.
	Documents *http.Client
	Log       *slog.Logger
	// Now is the clock; nil means time.Now.
	Now func() time.Time
}

// Issuer is an OIDC issuer.
type Issuer struct {
	url       string
	cfg       account.Config
	accounts  *account.Directory
	signer    *token.Signer
	grants    *grant.Store
	flows     *flow.Store
	attempts  *attempts
	resources Resources
	// registered is nil if programs may not register themselves.
	registered *registration.Store
	now        func() time.Time
	log        *slog.Logger
	listener   net.Listener
	server     *http.Server
}

// Accounts returns the accounts in the data directory of an issuer that has run there.
func Accounts(dir string) (account.File, error) {
	return account.Read(filepath.Join(dir, accountsFile))
}

// New returns an issuer on a listener. It refuses one that other machines can reach.
func New(o Options) (*Issuer, error) {
	now := o.Now
	if now == nil {
		now = time.Now
	}
	addr, err := netip.ParseAddrPort(o.Listener.Addr().String())
	if err != nil || !addr.Addr().Unmap().IsLoopback() {
		return nil, fmt.Errorf("the built-in issuer serves this machine only: identity.issuer.addr %s is no loopback address such as "+
			"127.0.0.1:8089; use an identity provider of yours in identity.issuers", o.Listener.Addr())
	}
	if o.Resources.Known == nil || o.Documents == nil {
		return nil, errors.New("the built-in issuer needs Resources and Documents")
	}
	if err := os.MkdirAll(o.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("directory of the issuer: %w", err)
	}
	i := &Issuer{
		url: "http://" + addr.String(), cfg: o.Config, flows: flow.New(now), now: now, log: o.Log,
		listener: o.Listener, resources: o.Resources,
	}
	if i.attempts, err = newAttempts(); err != nil {
		return nil, err
	}
	if i.accounts, err = account.Open(o.Config, i.url, filepath.Join(o.Dir, accountsFile)); err != nil {
		return nil, err
	}
	if i.signer, err = token.Open(i.url, filepath.Join(o.Dir, "signing.pem"), now); err != nil {
		return nil, err
	}
	if i.grants, err = grant.Open(filepath.Join(o.Dir, "logins.json"), o.Key, now); err != nil {
		return nil, err
	}
	if o.Config.RegisterClients {
		i.registered, err = registration.Open(filepath.Join(o.Dir, clientsFile), registration.Deps{
			Client: o.Documents, InUse: i.grants.HasLogin, Now: now,
		})
		if err != nil {
			return nil, err
		}
	}
	i.server = &http.Server{
		Handler: i.handler(addr.Port()), ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 10 * time.Second, WriteTimeout: 20 * time.Second,
		IdleTimeout: time.Minute, MaxHeaderBytes: 32 << 10, ConnContext: peercred.ConnContext,
		ErrorLog: slog.NewLogLogger(o.Log.Handler(), slog.LevelDebug),
	}
	return i, nil
}

// URL returns the issuer's name, which is also its address.
func (i *Issuer) URL() string { return i.url }

// Secret returns the secret of a confidential client; zero if there is none.
func (i *Issuer) Secret(client string) secret.Value {
	c, _ := i.accounts.Client(client)
	return c.Secret
}

// Serve serves until Close; it then returns nil.
func (i *Issuer) Serve() error {
	if err := i.server.Serve(i.listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("built-in issuer: %w", err)
	}
	return nil
}

// Close stops serving, after requests under way or when ctx ends.
func (i *Issuer) Close(ctx context.Context) error {
	if err := i.server.Shutdown(ctx); err != nil {
		return fmt.Errorf("stop the built-in issuer: %w", errors.Join(err, i.server.Close()))
	}
	return nil
}

// endpoints are where the protocol is served.
func endpoints() op.Endpoints {
	return op.Endpoints{
		Authorization: op.NewEndpoint("authorize"), Token: op.NewEndpoint("token"), Introspection: op.NewEndpoint("introspect"),
		Userinfo: op.NewEndpoint("userinfo"), Revocation: op.NewEndpoint("revoke"), EndSession: op.NewEndpoint("logout"),
		JwksURI: op.NewEndpoint("keys"), DeviceAuthorization: op.NewEndpoint("device_authorization"),
	}
}

// handler serves the protocol and the pages behind the guard.
func (i *Issuer) handler(port uint16) http.Handler {
	mux := http.NewServeMux()
	protocol := op.RegisterServer(&server{Issuer: i}, endpoints(), op.WithFallbackLogger(i.log), op.WithServerCORSOptions(nil))
	mux.Handle("/", protocol)
	mux.HandleFunc(oauthMetadata, func(w http.ResponseWriter, r *http.Request) {
		r.URL.Path = oidc.DiscoveryEndpoint // the same document under the name that OAuth clients such as those of MCP look for
		protocol.ServeHTTP(w, r)
	})
	if i.registered != nil {
		mux.HandleFunc("POST "+registerPath, i.register)
	}
	pages := http.NewServeMux()
	pages.HandleFunc("GET /login", i.showLogin)
	pages.HandleFunc("POST /login", i.logIn)
	pages.HandleFunc("GET /device", i.showDevice)
	pages.HandleFunc("POST /device", i.decideDevice)
	pages.HandleFunc("GET /logged-out", i.showLoggedOut)
	pages.HandleFunc("GET /style.css", serveStyle)
	own := http.NewCrossOriginProtection().Handler(pages)
	for _, path := range []string{"/login", "/device", "/logged-out", "/style.css"} {
		mux.Handle(path, own)
	}
	return guard(mux, port)
}
