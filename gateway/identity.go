package gateway

import (
	"net"
	"net/http"
	"net/netip"
	"strings"

	"google.golang.org/grpc/codes"

	"github.com/windlass-dev/windlass/gateway/problem"
	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/fault"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
)

// allowed returns why a request may not be served: it comes from a web page of another origin, or carries no credentials.
func (g *Gateway) allowed(r *http.Request) error {
	if err := g.cross.Check(r); err != nil {
		return foreign(err)
	}
	if g.cfg.Loopback != Loopback || !fromThisMachine(r) {
		return fault.New(codes.Unauthenticated, faultv1.Reason_REASON_UNAUTHENTICATED, "the call carries no credentials").
			Hint("Call from the machine that Windlass runs on, by the name localhost, where identity.loopback allows it.")
	}
	return nil
}

func foreign(err error) error {
	return fault.New(codes.PermissionDenied, faultv1.Reason_REASON_PERMISSION_DENIED,
		"web pages of other origins may not call this API").
		Hint("Add the page's origin to gateway.cors_origins.").Cause(err)
}

// identify passes a request on in the name of the caller, who is allowed.
func (g *Gateway) identify(w http.ResponseWriter, r *http.Request, next http.Handler) {
	r.Header.Del("Authorization") // ends here: the mesh carries the principal, not the credentials
	ctx, err := g.deps.ProviderData.Receive(authn.With(r.Context(), authn.Local()), r.Header)
	if err != nil {
		problem.Write(w, r, err)
		return
	}
	next.ServeHTTP(w, r.WithContext(ctx))
}

// fromThisMachine reports whether a request came from this machine and was addressed to it. It excludes requests through a proxy, and those
// for another host name: a web page that uses DNS rebinding sends its own name.
func fromThisMachine(r *http.Request) bool {
	remote, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil || !remote.Addr().Unmap().IsLoopback() {
		return false
	}
	for _, h := range []string{"Forwarded", "X-Forwarded-For", "X-Real-Ip"} {
		if r.Header.Get(h) != "" {
			return false
		}
	}
	return loopbackName(r.Host)
}

func loopbackName(hostport string) bool {
	host := hostport
	if h, _, err := net.SplitHostPort(hostport); err == nil {
		host = h
	}
	host = strings.ToLower(strings.TrimSuffix(strings.Trim(host, "[]"), "."))
	if host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return true
	}
	addr, err := netip.ParseAddr(host)
	return err == nil && addr.Unmap().IsLoopback()
}
