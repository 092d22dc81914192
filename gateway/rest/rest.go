// Package rest serves the unary RPCs as REST: generated handlers over the gRPC connections, with strict request validation and RFC 9457
// problems.
package rest

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"mime"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/grpc-ecosystem/grpc-gateway/v2/runtime"
	"google.golang.org/grpc"

	inferencegw "github.com/windlass-dev/windlass/gateway/gen/windlass/inference/v1"
	knowledgegw "github.com/windlass-dev/windlass/gateway/gen/windlass/knowledge/v1"
	policygw "github.com/windlass-dev/windlass/gateway/gen/windlass/policy/v1"
	registrygw "github.com/windlass-dev/windlass/gateway/gen/windlass/registry/v1"
	sessionsgw "github.com/windlass-dev/windlass/gateway/gen/windlass/sessions/v1"
	inferencev1 "github.com/windlass-dev/windlass/proto/gen/windlass/inference/v1"
	knowledgev1 "github.com/windlass-dev/windlass/proto/gen/windlass/knowledge/v1"
	policyv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policy/v1"
	registryv1 "github.com/windlass-dev/windlass/proto/gen/windlass/registry/v1"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
)

// Deps holds the dependencies of the REST API; all of them are required.
type Deps struct {
	// Connections to the roles; they forward the principal of the request's context.
	Sessions, Registry, Policy, Inference, Knowledge grpc.ClientConnInterface
	// Log receives internal errors.
	Log *slog.Logger
	// MaxBody is the maximum size of a request body in bytes.
	MaxBody int64
	// Timeout is the default timeout of a call, MaxTimeout the maximum for Grpc-Timeout.
	Timeout, MaxTimeout time.Duration
	// Matched is called with the pattern that matches a request's path.
	Matched func(ctx context.Context, pattern string)
}

// API is the REST API below /v1.
type API struct {
	deps    Deps
	routes  *table
	mux     *runtime.ServeMux
	streams []string
	custom  []endpoint // further handlers
	forms   map[string]func(w http.ResponseWriter, r *http.Request, vars map[string]string)
	// follow is nil if turns cannot be followed.
	follow     Follower
	followable func(r *http.Request) error
}

// New builds the API.
func New(deps Deps) (*API, error) {
	if deps.Sessions == nil || deps.Registry == nil || deps.Policy == nil || deps.Inference == nil || deps.Knowledge == nil {
		return nil, errors.New("rest needs a connection to sessions, registry, policy, inference and knowledge")
	}
	if deps.Log == nil || deps.Matched == nil || deps.MaxBody <= 0 || deps.Timeout <= 0 || deps.MaxTimeout < deps.Timeout {
		return nil, errors.New("rest needs Log, Matched, MaxBody, Timeout and a MaxTimeout that is no less")
	}
	routes, err := newTable()
	if err != nil {
		return nil, err
	}
	a := &API{deps: deps, routes: routes, forms: map[string]func(http.ResponseWriter, *http.Request, map[string]string){}}
	a.mux = runtime.NewServeMux(
		runtime.WithMarshalerOption(runtime.MIMEWildcard, marshaler{}),
		runtime.WithMiddlewares(a.prepare),
		runtime.WithErrorHandler(a.onError),
		runtime.WithRoutingErrorHandler(a.onRoutingError),
		runtime.WithForwardResponseOption(setETag),
		runtime.WithForwardResponseOption(setAccepted),
		runtime.WithForwardResponseOption(setAttachment),
		runtime.WithIncomingHeaderMatcher(matchRequestID),
		runtime.WithOutgoingHeaderMatcher(matchReplayHeader),
		runtime.WithOutgoingTrailerMatcher(matchNone),
		runtime.WithDisablePathLengthFallback(),
		runtime.WithDisableHTTPMethodOverride(),
	)
	return a, a.register()
}

func (a *API) register() error {
	ctx := context.Background() // generated code takes one and does not use it
	sessions, registry := keyed{a.deps.Sessions}, keyed{a.deps.Registry}
	err := errors.Join(
		sessionsgw.RegisterAgentServiceHandlerClient(ctx, a.mux, sessionsv1.NewAgentServiceClient(sessions)),
		sessionsgw.RegisterSessionServiceHandlerClient(ctx, a.mux, sessionsv1.NewSessionServiceClient(sessions)),
		sessionsgw.RegisterArtifactServiceHandlerClient(ctx, a.mux, sessionsv1.NewArtifactServiceClient(sessions)),
		sessionsgw.RegisterFileServiceHandlerClient(ctx, a.mux, sessionsv1.NewFileServiceClient(sessions)),
		sessionsgw.RegisterTurnServiceHandlerClient(ctx, a.mux, sessionsv1.NewTurnServiceClient(sessions)),
		sessionsgw.RegisterApprovalServiceHandlerClient(ctx, a.mux, sessionsv1.NewApprovalServiceClient(sessions)),
		sessionsgw.RegisterBudgetServiceHandlerClient(ctx, a.mux, sessionsv1.NewBudgetServiceClient(sessions)),
		sessionsgw.RegisterWebhookServiceHandlerClient(ctx, a.mux, sessionsv1.NewWebhookServiceClient(sessions)),
		sessionsgw.RegisterShareServiceHandlerClient(ctx, a.mux, sessionsv1.NewShareServiceClient(sessions)),
		sessionsgw.RegisterEventServiceHandlerClient(ctx, a.mux, sessionsv1.NewEventServiceClient(sessions)),
		sessionsgw.RegisterScheduleServiceHandlerClient(ctx, a.mux, sessionsv1.NewScheduleServiceClient(sessions)),
		sessionsgw.RegisterSessionAnalyticsServiceHandlerClient(ctx, a.mux, sessionsv1.NewSessionAnalyticsServiceClient(sessions)),
		registrygw.RegisterSourceServiceHandlerClient(ctx, a.mux, registryv1.NewSourceServiceClient(registry)),
		registrygw.RegisterToolServiceHandlerClient(ctx, a.mux, registryv1.NewToolServiceClient(registry)),
		registrygw.RegisterToolGroupServiceHandlerClient(ctx, a.mux, registryv1.NewToolGroupServiceClient(registry)),
		registrygw.RegisterToolCacheServiceHandlerClient(ctx, a.mux, registryv1.NewToolCacheServiceClient(registry)),
		registrygw.RegisterToolAnalyticsServiceHandlerClient(ctx, a.mux, registryv1.NewToolAnalyticsServiceClient(registry)),
		policygw.RegisterConnectionServiceHandlerClient(ctx, a.mux, policyv1.NewConnectionServiceClient(keyed{a.deps.Policy})),
		policygw.RegisterGrantServiceHandlerClient(ctx, a.mux, policyv1.NewGrantServiceClient(keyed{a.deps.Policy})),
		policygw.RegisterSecretServiceHandlerClient(ctx, a.mux, policyv1.NewSecretServiceClient(keyed{a.deps.Policy})),
		policygw.RegisterQuotaServiceHandlerClient(ctx, a.mux, policyv1.NewQuotaServiceClient(keyed{a.deps.Policy})),
		policygw.RegisterAuditServiceHandlerClient(ctx, a.mux, policyv1.NewAuditServiceClient(keyed{a.deps.Policy})),
		policygw.RegisterAccessPolicyServiceHandlerClient(ctx, a.mux, policyv1.NewAccessPolicyServiceClient(keyed{a.deps.Policy})),
		policygw.RegisterPolicyServiceHandlerClient(ctx, a.mux, policyv1.NewPolicyServiceClient(keyed{a.deps.Policy})),
		inferencegw.RegisterInferenceServiceHandlerClient(ctx, a.mux, inferencev1.NewInferenceServiceClient(keyed{a.deps.Inference})),
		knowledgegw.RegisterBankServiceHandlerClient(ctx, a.mux, knowledgev1.NewBankServiceClient(keyed{a.deps.Knowledge})),
		knowledgegw.RegisterMemoryServiceHandlerClient(ctx, a.mux, knowledgev1.NewMemoryServiceClient(keyed{a.deps.Knowledge})),
		knowledgegw.RegisterDocumentServiceHandlerClient(ctx, a.mux, knowledgev1.NewDocumentServiceClient(keyed{a.deps.Knowledge})),
		knowledgegw.RegisterBankSourceServiceHandlerClient(ctx, a.mux, knowledgev1.NewBankSourceServiceClient(keyed{a.deps.Knowledge})),
		knowledgegw.RegisterSearchServiceHandlerClient(ctx, a.mux, knowledgev1.NewSearchServiceClient(keyed{a.deps.Knowledge})),
	)
	if err != nil {
		return fmt.Errorf("register REST handlers: %w", err)
	}
	return nil
}

// ServeHTTP implements http.Handler.
func (a *API) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w, r = a.head(w, r)
	a.mux.ServeHTTP(w, r)
}

// HandleStream adds a GET handler for a stream, for which no code is generated. Pattern variables are passed by name.
func (a *API) HandleStream(pattern string, h func(w http.ResponseWriter, r *http.Request, vars map[string]string)) error {
	a.streams = append(a.streams, pattern)
	if err := a.mux.HandlePath(http.MethodGet, pattern, h); err != nil {
		return fmt.Errorf("handle %s: %w", pattern, err)
	}
	return nil
}

// endpoint is a method and path for which no code is generated.
type endpoint struct{ method, pattern string }

// Handle adds a handler for which no code is generated. Pattern variables are passed by name.
func (a *API) Handle(method, pattern string, h func(w http.ResponseWriter, r *http.Request, vars map[string]string)) error {
	a.custom = append(a.custom, endpoint{method, pattern})
	if err := a.mux.HandlePath(method, pattern, h); err != nil {
		return fmt.Errorf("handle %s %s: %w", method, pattern, err)
	}
	return nil
}

// HandleForm adds a handler for those requests to a path of an RPC whose body is a form with files; others go to the RPC. The handler
// checks the request itself.
func (a *API) HandleForm(method, pattern string, h func(w http.ResponseWriter, r *http.Request, vars map[string]string)) {
	a.forms[method+" "+pattern] = h
}

// form returns the handler of a request whose body is a form, nil for others.
func (a *API) form(r *http.Request, pattern string) func(w http.ResponseWriter, r *http.Request, vars map[string]string) {
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "multipart/form-data" {
		return nil
	}
	return a.forms[r.Method+" "+pattern]
}

// IsStream reports whether a path is that of a stream.
func (a *API) IsStream(path string) bool {
	return slices.ContainsFunc(a.streams, func(pattern string) bool { return matches(pattern, path) })
}

// Annotate returns a context for an upstream call with the forwarded request headers, as the generated handlers do.
func (a *API) Annotate(ctx context.Context, r *http.Request, rpc string) (context.Context, error) {
	return runtime.AnnotateContext(ctx, a.mux, r, rpc) // the error handler knows it
}

// matchRequestID selects the request headers to forward. The gRPC client sets the trace's own, and we set the principal.
func matchRequestID(key string) (string, bool) {
	if strings.EqualFold(key, "X-Request-Id") {
		return "x-request-id", true
	}
	return "", false
}

func matchNone(string) (string, bool) { return "", false }
