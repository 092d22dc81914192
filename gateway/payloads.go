package gateway

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/windlass-dev/windlass/gateway/problem"
	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/rpc"
)

const (
	// PayloadsPath is the codec endpoint of the Temporal UI.
	PayloadsPath = "/temporal/codec"
	// decodePermission is needed to read what Windlass stores in Temporal.
	decodePermission = "temporal.payloads.decode"
	// maxPayloads is the largest request of the UI: a page of a history, in Base64.
	maxPayloads = 32 << 20
)

// codecCallers lets callers decode payloads who have the permission, also from pages of Temporal's UI: browsers show it at another origin,
// which may call these endpoints and nothing else.
func (i *identity) codecCallers(w http.ResponseWriter, r *http.Request, to route) {
	if origin := r.Header.Get("Origin"); origin != "" && sameSite(origin, i.cfg.TemporalUI) {
		h := w.Header()
		h.Add("Vary", "Origin")
		h.Set("Access-Control-Allow-Origin", origin)
		h.Set("Access-Control-Allow-Credentials", "true")
		if r.Method == http.MethodOptions {
			h.Set("Access-Control-Allow-Methods", http.MethodPost)
			h.Set("Access-Control-Allow-Headers", "Authorization, Content-Type, X-Namespace")
			h.Set("Access-Control-Max-Age", "600")
			w.WriteHeader(http.StatusNoContent)
			return
		}
		r = r.Clone(r.Context()) // the check of origins below does not know this one
		r.Header.Del("Origin")
		r.Header.Set("Sec-Fetch-Site", "same-origin")
	}
	if !to.allows(w, r) {
		return
	}
	if c, ok := i.admit(w, r, authn.PeerOf(r)); ok {
		i.serveAs(w, r, c, to.handler)
	}
}

// decode serves callers who have the permission.
func (g *Gateway) decode(w http.ResponseWriter, r *http.Request) {
	if err := rpc.Require(r.Context(), g.deps.Authorizer, authn.From(r.Context()), decodePermission, r.URL.Path); err != nil {
		problem.Write(w, r, err)
		return
	}
	r.Body = http.MaxBytesReader(w, r.Body, maxPayloads)
	w.Header().Set("Cache-Control", "no-store")
	g.deps.Payloads.ServeHTTP(w, r)
}

// sameSite reports whether an origin is that of a URL. All names of this machine's loopback are one.
func sameSite(origin, address string) bool {
	a, errA := url.Parse(origin)
	b, errB := url.Parse(address)
	if errA != nil || errB != nil || b.Host == "" || a.Scheme != b.Scheme {
		return false
	}
	if strings.EqualFold(a.Host, b.Host) {
		return true
	}
	loopback := []string{"localhost", "127.0.0.1", "::1"}
	return a.Port() == b.Port() && slices.Contains(loopback, a.Hostname()) && slices.Contains(loopback, b.Hostname())
}
