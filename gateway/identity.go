package gateway

import (
	"net"
	"net/http"
	"net/netip"

	"google.golang.org/grpc/codes"

	"github.com/windlass-dev/windlass/gateway/problem"
	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/peercred"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	policyv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policy/v1"
)

// authenticate returns the principal of a request. If the request may not be served, it has been answered, and the principal is nil: it
// comes from a web page of another origin, or its credentials are missing or refused.
func (g *Gateway) authenticate(w http.ResponseWriter, r *http.Request) *policyv1.Principal {
	if err := g.foreign(r); err != nil {
		problem.Write(w, r, err)
		return nil
	}
	p, err := g.known(r)
	if err != nil {
		g.deps.Log.DebugContext(r.Context(), "call not authenticated", "error", err)
		if c := g.resources.Challenge(r, err); c != "" {
			w.Header().Set(problem.Challenge, c)
		}
		problem.Write(w, r, err)
		return nil
	}
	return p
}

// foreign refuses requests that web pages of other origins make.
func (g *Gateway) foreign(r *http.Request) error {
	if err := g.cross.Check(r); err != nil {
		return foreign(err)
	}
	return nil
}

// known returns the principal of a request, whatever page it is from.
func (g *Gateway) known(r *http.Request) (*policyv1.Principal, error) {
	credentials := authn.Credentials{Authorization: r.Header.Values("Authorization"), Resource: g.resources.URL(r), Peer: connection(r)}
	if g.cfg.MCPLogin && isMCP(r.URL.Path) {
		credentials.Peer = authn.Peer{}
	}
	return g.deps.Authenticator.Authenticate(r.Context(), credentials)
}

func foreign(err error) error {
	return fault.New(codes.PermissionDenied, faultv1.Reason_REASON_PERMISSION_DENIED,
		"web pages of other origins may not call this API").
		Hint("Add the page's origin to gateway.cors_origins.").Cause(err)
}

// serveAs passes a request on in the name of the caller.
func (g *Gateway) serveAs(w http.ResponseWriter, r *http.Request, caller *policyv1.Principal, next http.Handler) {
	r.Header.Del("Authorization") // ends here: the mesh carries the principal, not the credentials
	ctx, err := g.deps.ProviderData.Receive(authn.With(r.Context(), caller), r.Header)
	if err != nil {
		problem.Write(w, r, err)
		return
	}
	next.ServeHTTP(w, r.WithContext(ctx))
}

// connection describes the connection of a request.
func connection(r *http.Request) authn.Peer {
	out := authn.Peer{Host: r.Host, User: peercred.FromContext(r.Context())}
	if remote, err := netip.ParseAddrPort(r.RemoteAddr); err == nil {
		out.Remote = net.TCPAddrFromAddrPort(remote)
	}
	out.Local, _ = r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	for _, name := range authn.ProxyHeaders {
		out.Forwarded = out.Forwarded || r.Header.Get(name) != ""
	}
	return out
}
