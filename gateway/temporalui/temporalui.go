// Package temporalui serves the UI of a Temporal server to operators. The UI itself accepts the gateway only: it has no accounts, and its
// buttons end, signal and reset what runs in Temporal.
package temporalui

import (
	"errors"
	"log/slog"
	"net/http"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"

	"google.golang.org/grpc/codes"

	"github.com/windlass-dev/windlass/gateway/problem"
	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/rpc"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	policyv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policy/v1"
)

const (
	// Permission is needed to use the UI.
	Permission = "temporal.ui.use"
	// maxBody is the largest request of the UI, in bytes.
	maxBody = 4 << 20
	// tokenCookie is the UI's own cookie, against forged requests.
	tokenCookie = "_csrf"
)

// forwarded are the headers that reach the UI: those that its pages need, and no credentials.
func forwarded() []string {
	return []string{
		"Accept", "Accept-Encoding", "Accept-Language", "Caller-Type", "Content-Type", "If-Modified-Since", "If-None-Match", "Range",
		"User-Agent", "X-Csrf-Token",
	}
}

// Deps holds what the UI needs; all fields but Login are required.
type Deps struct {
	// Target is the URL of the UI, which Transport reaches.
	Target    *url.URL
	Transport http.RoundTripper
	// Authenticate returns the principal of a request, or why it has none.
	Authenticate func(*http.Request) (*policyv1.Principal, error)
	Authorizer   rpc.Authorizer
	// Login returns the URL at which a browser logs in to come back to a path of the UI; nil if browsers cannot log in.
	Login func(path string) string
	Log   *slog.Logger
}

// UI is an HTTP handler.
type UI struct {
	deps  Deps
	cross *http.CrossOriginProtection
	proxy *httputil.ReverseProxy
}

// New returns the handler.
func New(deps Deps) *UI {
	u := &UI{deps: deps, cross: http.NewCrossOriginProtection()}
	u.proxy = &httputil.ReverseProxy{
		Transport: deps.Transport, Rewrite: u.rewrite, ErrorHandler: u.unreachable,
		ErrorLog: slog.NewLogLogger(deps.Log.Handler(), slog.LevelDebug),
	}
	return u
}

// ServeHTTP implements http.Handler.
func (u *UI) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if err := u.refuseForeign(r); err != nil {
		problem.Write(w, r, err)
		return
	}
	p, err := u.deps.Authenticate(r)
	if err != nil {
		u.refuse(w, r, err)
		return
	}
	if err := rpc.Require(r.Context(), u.deps.Authorizer, p, Permission, r.URL.Path); err != nil {
		problem.Write(w, r, err)
		return
	}
	r.Body = http.MaxBytesReader(w, r.Body, maxBody)
	for _, name := range []string{"Content-Security-Policy", "X-Frame-Options", "X-Content-Type-Options", "Referrer-Policy"} {
		w.Header().Del(name) // the UI sets its own: its pages frame each other
	}
	u.proxy.ServeHTTP(w, r)
}

// refuseForeign returns an error for requests that pages of all other origins make.
func (u *UI) refuseForeign(r *http.Request) error {
	if err := authn.SameOrigin(u.cross, r); err != nil {
		return fault.New(codes.PermissionDenied, faultv1.Reason_REASON_PERMISSION_DENIED, "web pages of other origins may not use Temporal's UI").
			Cause(err)
	}
	return nil
}

// refuse answers a request without a principal: a person is shown where to log in.
func (u *UI) refuse(w http.ResponseWriter, r *http.Request, err error) {
	page := r.Method == http.MethodGet && strings.Contains(r.Header.Get("Accept"), "text/html")
	if fault.From(err).Code != codes.Unauthenticated || !page || u.deps.Login == nil {
		problem.Write(w, r, err)
		return
	}
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Cache-Control", "no-store")
	w.WriteHeader(http.StatusUnauthorized)
	if err := loginPage.Execute(w, u.deps.Login(r.URL.Path)); err != nil {
		u.deps.Log.DebugContext(r.Context(), "page not written", "error", err)
	}
}

// rewrite makes the request to the UI.
func (u *UI) rewrite(p *httputil.ProxyRequest) {
	p.SetURL(u.deps.Target)
	keep := http.Header{}
	for _, name := range forwarded() {
		if values := p.In.Header.Values(name); len(values) > 0 {
			keep[name] = slices.Clone(values)
		}
	}
	if tokens := p.In.CookiesNamed(tokenCookie); len(tokens) == 1 {
		keep.Set("Cookie", tokens[0].Name+"="+tokens[0].Value)
	}
	p.Out.Header = keep
}

// unreachable answers when the UI does not.
func (u *UI) unreachable(w http.ResponseWriter, r *http.Request, err error) {
	if tooLarge, ok := errors.AsType[*http.MaxBytesError](err); ok {
		problem.Write(w, r, fault.Invalid("body", "is larger than %d bytes", tooLarge.Limit))
		return
	}
	problem.Write(w, r, fault.Unavailable(faultv1.Reason_REASON_UNAVAILABLE, "Temporal's UI does not answer").
		Hint("'windlass up' starts its own again; else check temporal.ui_proxy and temporal.tls.").Cause(err))
}
