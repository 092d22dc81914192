// Package mcp offers the mesh to MCP clients over streamable HTTP, in both eras of the protocol: the tools that a caller may use,
// whatever their source, and the resources and prompts of MCP sources. It holds no state that a request of a client needs to find again, so
// any replica answers any request. Exceptions are for protocols before 2026-07-28: a client's answer to a question of a running call, its
// cancellation of one, its log level and its subscriptions concern the replica that has the call or the stream.
//
// It does not use the library's server, which sends notifications of one call to the streams of others, lets callers cancel each other's
// calls and has one catalogue for all; the library's messages and header rules are used.
package mcp

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"google.golang.org/grpc"

	"github.com/windlass-dev/windlass/gateway/mcp/orchestrator"
	"github.com/windlass-dev/windlass/libs/config"
	registryv1 "github.com/windlass-dev/windlass/proto/gen/windlass/registry/v1"
)

// Path is where the caller's catalogue is served; a source is served at Path, a slash and its name, and so is the orchestrator.
const Path = "/mcp"

// Config configures the server. Zero stands for the default.
type Config struct {
	// MaxBody limits a request in bytes.
	MaxBody int64 `default:"4194304"`
	// Heartbeat is how long a response may be silent. After that it becomes a stream, on which comments keep the connection open.
	Heartbeat time.Duration `default:"15s"`
	// WriteTimeout bounds each write to a client.
	WriteTimeout time.Duration `default:"30s"`
	// AnswerTimeout is how long a client of a protocol before 2026-07-28 may take to answer a question of a tool.
	AnswerTimeout time.Duration `default:"30m"`
	// URL is where people find the console; "" = no links.
	URL string
}

// Deps holds the server's dependencies; all are required.
type Deps struct {
	// Registry and Sessions are connections that forward the principal of the call's context.
	Registry, Sessions grpc.ClientConnInterface
	// Log receives internal errors.
	Log *slog.Logger
}

// Handler serves MCP. The context of a request holds the caller's principal.
type Handler struct {
	cfg     Config
	calls   *calls
	offers  *offers
	watches *watches
	running running
	stop    context.CancelFunc
}

// Bounds of what is remembered for clients; the least recently used is forgotten.
const (
	namesKept         = 10_000
	levelsKept        = 10_000
	subscriptionsKept = 10_000
)

// New returns a handler.
func New(cfg Config, deps Deps) (*Handler, error) {
	if deps.Registry == nil || deps.Sessions == nil || deps.Log == nil {
		return nil, errors.New("mcp needs Registry, Sessions and Log")
	}
	config.Fill(&cfg)
	tools, servers := registryv1.NewToolServiceClient(deps.Registry), registryv1.NewServerServiceClient(deps.Registry)
	h := &Handler{
		cfg:     cfg,
		calls:   &calls{tools: tools, agents: orchestrator.New(deps.Sessions, cfg.URL), answerTimeout: cfg.AnswerTimeout, log: deps.Log},
		watches: &watches{tools: tools, servers: servers},
	}
	h.offers = &offers{servers: servers, skills: skills{h.calls}, log: deps.Log}
	h.watches.stopping, h.stop = context.WithCancel(context.Background())
	var err error
	if h.calls.names, err = lru.New[originalName, string](namesKept); err != nil {
		return nil, err
	}
	if h.calls.levels, err = lru.New[ownSession, string](levelsKept); err != nil {
		return nil, err
	}
	if h.watches.subscriptions, err = lru.New[ownSession, *subscriptions](subscriptionsKept); err != nil {
		return nil, err
	}
	return h, nil
}

// Drain ends the streams of notifications, so that their readers connect to another replica.
func (h *Handler) Drain() { h.stop() }

// ServeHTTP serves Path and what is below it.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	source := strings.TrimPrefix(strings.TrimPrefix(r.URL.Path, Path), "/")
	if strings.Contains(source, "/") {
		http.NotFound(w, r)
		return
	}
	switch r.Method {
	case http.MethodPost:
		h.post(w, r, source)
	case http.MethodGet:
		h.listenLegacy(w, r, source)
	default: // DELETE too: a session is nothing here that could be ended
		notAllowed(w, http.MethodPost, http.MethodGet)
	}
}

func notAllowed(w http.ResponseWriter, methods ...string) {
	w.Header().Set("Allow", strings.Join(methods, ", "))
	http.Error(w, "method not allowed", http.StatusMethodNotAllowed)
}

// running are the requests in progress of clients of the old era, which cancel them with a notification. The zero value is ready for use.
type running struct {
	mu  sync.Mutex
	all map[runningKey]context.CancelCauseFunc
}

// runningKey identifies a request. Subject and session belong to it: nobody cancels the request of another client.
type runningKey struct{ subject, session, id string }

// begin registers a request until end is called. A request outside a session cannot be cancelled by a notification.
func (r *running) begin(key runningKey, cancel context.CancelCauseFunc) (end func()) {
	if key.session == "" {
		return func() {}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.all == nil {
		r.all = map[runningKey]context.CancelCauseFunc{}
	}
	r.all[key] = cancel
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.all, key)
	}
}

func (r *running) cancel(key runningKey) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if cancel := r.all[key]; cancel != nil {
		cancel(errCancelled)
	}
}

// errCancelled means that the client cancelled its request.
var errCancelled = errors.New("the client cancelled the request")
