// Package ops serves what orchestrators and monitoring ask of a process: whether it lives and is ready, for everyone, and details of that
// and metrics, for those who may see them.
package ops

import (
	"context"
	"log/slog"
	"net/http"
	"strings"

	"github.com/windlass-dev/windlass/gateway/problem"
	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/hostname"
	"github.com/windlass-dev/windlass/libs/probe"
	"github.com/windlass-dev/windlass/libs/rpc"
	"github.com/windlass-dev/windlass/libs/telemetry"
	policyv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policy/v1"
)

// Permissions of the details.
const (
	healthPermission  = "health.get"
	metricsPermission = "metrics.get"
)

// Deps holds what the handlers need; all fields except Metrics are required.
type Deps struct {
	// Authenticate returns the principal of a request, or why it has none.
	Authenticate func(*http.Request) (*policyv1.Principal, error)
	Authorizer   rpc.Authorizer
	// Results runs the checks of readiness.
	Results func(context.Context) []probe.Result
	// Metrics serves all metrics; nil means not served.
	Metrics http.Handler
	// Scrape names the token that monitoring sends.
	Scrape telemetry.ScrapeConfig
	Log    *slog.Logger
}

// Ops serves /healthz, /readyz and /metrics.
type Ops struct{ deps Deps }

// New returns the handlers.
func New(deps Deps) *Ops { return &Ops{deps} }

// Ready serves /readyz: to everyone whether all checks passed, to those who may see them their results.
func (o *Ops) Ready(w http.ResponseWriter, r *http.Request) {
	probe.Ready(o.deps.Results, o.mayReadHealth).ServeHTTP(w, r)
}

// mayReadHealth reports whether a caller may see the results of the checks.
func (o *Ops) mayReadHealth(r *http.Request) bool {
	p, err := o.deps.Authenticate(r)
	if err != nil {
		return false
	}
	verdict, err := o.deps.Authorizer.Decide(r.Context(), p, healthPermission)
	return err == nil && verdict.Allowed
}

// Metrics serves /metrics to those who may see them.
func (o *Ops) Metrics(w http.ResponseWriter, r *http.Request) {
	if err := o.mayReadMetrics(r); err != nil {
		problem.Write(w, r, err)
		return
	}
	o.deps.Metrics.ServeHTTP(w, r)
}

func (o *Ops) mayReadMetrics(r *http.Request) error {
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if strings.EqualFold(scheme, "Bearer") {
		ok, err := o.deps.Scrape.Accepts(strings.TrimSpace(token))
		if err != nil {
			o.deps.Log.ErrorContext(r.Context(), "the token for metrics cannot be read", "error", err)
		}
		if ok {
			return nil
		}
	}
	p, err := o.deps.Authenticate(r)
	if err != nil {
		return err
	}
	return rpc.Require(r.Context(), o.deps.Authorizer, p, metricsPermission, r.URL.Path)
}

// ServeHTTP implements http.Handler for a port that serves nothing else.
func (o *Ops) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	served := map[string]http.Handler{"/healthz": probe.Live(), "/readyz": http.HandlerFunc(o.Ready)}
	if o.deps.Metrics != nil {
		served["/metrics"] = http.HandlerFunc(o.Metrics)
	}
	switch h := served[r.URL.Path]; {
	case h == nil:
		problem.NotFound(w, r)
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		problem.MethodNotAllowed(w, r, http.MethodGet, http.MethodHead)
	default:
		h.ServeHTTP(w, r)
	}
}

// Guard refuses requests for other hosts than those in names, and sets the headers that all responses to browsers have. setting is the
// configuration key of the names.
func Guard(names hostname.Names, setting string, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("X-Frame-Options", "DENY")
		h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'") // pages set their own
		if !names.Allow(r.Host, authn.PeerOf(r).Local) {
			problem.WriteStatus(w, r, http.StatusMisdirectedRequest, rpc.ForeignHost(r.Host, setting))
			return
		}
		next.ServeHTTP(w, r)
	})
}
