package gateway

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"

	"github.com/windlass-dev/windlass/gateway/bff"
	"github.com/windlass-dev/windlass/gateway/ops"
	"github.com/windlass-dev/windlass/gateway/temporalui"
	"github.com/windlass-dev/windlass/libs/hostname"
	policyv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policy/v1"
)

// uiPath redirects browsers to a path of Temporal's UI, for logins: these return to the gateway's own origin only.
const uiPath = "/temporal/ui/"

// newTemporalUI returns the server of Temporal's UI, nil if it is not served here. It is an origin of its own: the UI is not our code, and
// gets no more rights over the API than any other page. Its handler checks origin and permission.
func (g *Gateway) newTemporalUI(names hostname.Names) (*http.Server, error) {
	if g.cfg.TemporalTarget == "" {
		return nil, nil
	}
	target, err := url.Parse(g.cfg.TemporalTarget)
	if err != nil || target.Host == "" || target.Scheme != "http" && target.Scheme != "https" {
		return nil, fmt.Errorf("temporal.ui_proxy.target %q is no http URL", g.cfg.TemporalTarget)
	}
	deps := temporalui.Deps{
		Target: target, Transport: g.deps.TemporalUI, Authorizer: g.deps.Authorizer, Log: g.deps.Log,
		Authenticate: func(r *http.Request) (*policyv1.Principal, error) {
			p, err := g.identity.principal(r)
			if err == nil {
				err = g.identity.count(r, p)
			}
			return p, err
		},
	}
	if g.deps.Login != nil {
		deps.Login = func(path string) string {
			query := url.Values{"return_to": {uiPath + strings.TrimPrefix(path, "/")}}
			return strings.TrimSuffix(g.cfg.URL, "/") + bff.LoginPath + "?" + query.Encode()
		}
	}
	ui := temporalui.New(deps)
	served := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		recordRoute(r.Context(), "temporal ui")
		ui.ServeHTTP(w, r)
	})
	return newServer(g.seen.middleware(ops.Guard(names, "gateway.hosts", served)), g.deps.Log), nil
}

// toTemporalUI redirects to Temporal's UI.
func (g *Gateway) toTemporalUI(w http.ResponseWriter, r *http.Request) {
	to, err := url.Parse(g.cfg.TemporalUI)
	if err != nil {
		to = &url.URL{Path: "/"} // the console has checked it
	}
	//nolint:gosec // where it leads is configuration, only the path is the caller's
	http.Redirect(w, r, to.JoinPath(strings.TrimPrefix(r.URL.Path, uiPath)).String(), http.StatusSeeOther)
}

// ServeTemporalUI accepts requests to Temporal's UI on l until StopTemporalUI, and then returns nil. With gateway.tls, it accepts TLS only.
func (g *Gateway) ServeTemporalUI(l net.Listener) error { return serveOn(g.temporalUI, l) }

// StopTemporalUI waits for requests in progress until ctx ends.
func (g *Gateway) StopTemporalUI(ctx context.Context) error {
	if err := g.temporalUI.Shutdown(ctx); err != nil {
		return errors.Join(fmt.Errorf("stop the server of Temporal's UI: %w", err), g.temporalUI.Close())
	}
	return nil
}
