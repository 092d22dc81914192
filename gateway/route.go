package gateway

import (
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/windlass-dev/windlass/gateway/bff"
	"github.com/windlass-dev/windlass/gateway/connect"
	"github.com/windlass-dev/windlass/gateway/console"
	"github.com/windlass-dev/windlass/gateway/openapi"
	"github.com/windlass-dev/windlass/gateway/problem"
	"github.com/windlass-dev/windlass/gateway/protected"
	"github.com/windlass-dev/windlass/gateway/site"
	"github.com/windlass-dev/windlass/gateway/sse"
	"github.com/windlass-dev/windlass/gateway/upload"
	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/probe"
)

// route is a door of the gateway: a request is served by the first one that matches its path, or not at all. Before that, ops.Guard has
// refused requests for hosts that are not in gateway.hosts.
type route struct {
	// pattern is a path, in which {name} stands for a segment and a final slash for everything below. It names the route in metrics.
	pattern string
	// matches replaces the comparison with pattern.
	matches func(path string) bool
	// methods are those that are served; nil: the handler decides.
	methods []string
	// access checks the request's origin and identity.
	access access
	// handler serves the requests that access lets through.
	handler http.Handler
	// off means that the configuration does not have it.
	off bool
}

// apiPath is where the API is served, and mcpPath where MCP is.
const (
	apiPath = "/v1/"
	mcpPath = "/mcp"
	// sharedPath is where shared conversations are read. What follows is a token, which is not recorded.
	sharedPath = apiPath + "shared/"
	// sharedPage is where the console shows them, by the same token.
	sharedPage = "/shared/"
)

// isMCP reports whether a path is one at which MCP is served.
func isMCP(path string) bool { return path == mcpPath || strings.HasPrefix(path, mcpPath+"/") }

// access passes a request on to a route's handler or refuses it.
type access func(w http.ResponseWriter, r *http.Request, to route)

// routes are all doors of the gateway's listener. Temporal's UI has a listener of its own, see newTemporalUI.
//
//	access         identity                                            web pages of other origins
//	callers        a token, a login of a browser or a connection       those of gateway.cors_origins
//	readers        the same, or none                                   those of gateway.cors_origins
//	mcpCallers     the same; no connection with identity.mcp_login     those of gateway.cors_origins
//	codecCallers   as callers, with temporal.payloads.decode           that of temporal.ui
//	localUser      the local user                                      none
//	everyone       none, unless the handler asks for one               all, unless the handler refuses them
//	publicDocument none                                                all, scripts too
func (g *Gateway) routes() []route {
	type do = http.HandlerFunc
	get, read, post := []string{http.MethodGet}, []string{http.MethodGet, http.MethodHead}, []string{http.MethodPost}
	noPages, noLogin, noCodec := g.deps.Connections == nil, g.deps.Login == nil, g.deps.Payloads == nil
	return append(g.pages(), []route{
		// Shared conversations, whose audience may be anyone. They are part of the API.
		{pattern: sharedPath, access: g.identity.readers, handler: g.api},

		// REST at the paths that proto/ declares, and streams at those of eventStreams.
		{pattern: apiPath, access: g.identity.callers, handler: g.api},

		// MCP, by gateway/mcp: call.go has tools/call, dispatch.go all methods. /mcp has the tools of all sources, /mcp/SOURCE those of one,
		// and /mcp/orchestrator runs agents.
		{pattern: mcpPath, matches: isMCP, access: g.identity.mcpCallers, handler: g.deps.MCP, off: g.deps.MCP == nil},

		// What Temporal's UI shows of encrypted payloads, and the redirect to the UI.
		{pattern: PayloadsPath + "/decode", methods: post, access: g.identity.codecCallers, handler: do(g.decode), off: noCodec},
		{pattern: PayloadsPath + "/encode", methods: post, access: g.identity.codecCallers, handler: do(g.decode), off: noCodec},
		{pattern: uiPath, methods: read, access: everyone, handler: do(g.toTemporalUI), off: g.cfg.TemporalTarget == ""},

		// Login of browsers. The pages have cookies of their own; a logout must come from a page of the gateway.
		{pattern: bff.LoginPath, methods: get, access: everyone, handler: do(g.deps.Login.Login), off: noLogin},
		{pattern: bff.CallbackPath, methods: get, access: everyone, handler: do(g.deps.Login.Callback), off: noLogin},
		{pattern: bff.LogoutPath, methods: post, access: everyone, handler: do(g.deps.Login.Logout), off: noLogin},

		// Pages on which users connect sources. They act for the browser's principal, and a decision must come from such a page.
		{pattern: connect.Path, access: everyone, handler: do(g.connect.Begin), off: noPages},
		{pattern: connect.CallbackPath, access: everyone, handler: do(g.connect.Complete), off: noPages},
		{pattern: connect.ClientPath, access: everyone, handler: do(g.connect.Client), off: noPages},
		{pattern: connect.StylePath, access: everyone, handler: do(g.connect.Style), off: noPages},
		{pattern: connect.DonePath, access: everyone, handler: do(g.connect.Done), off: noPages},
		{pattern: connect.Path + "/{ticket}", access: everyone, handler: do(g.connect.Ticket), off: noPages},

		// Documents for clients.
		{pattern: protected.Path, matches: g.resources.Has, methods: read, access: publicDocument, handler: do(g.resources.Document)},
		{pattern: site.ListPath, methods: read, access: everyone, handler: do(g.site.List)},
		{pattern: site.FullPath, methods: read, access: everyone, handler: do(g.site.Full)},
		{pattern: "/openapi.json", methods: read, access: everyone, handler: document(openapi.Document)},
		{pattern: "/openapi.client.json", methods: read, access: everyone, handler: document(openapi.ClientDocument)},

		// The documentation of this version.
		{pattern: site.Path, methods: read, access: everyone, handler: do(g.site.Home)},
		{pattern: site.Below, methods: read, access: everyone, handler: do(g.site.Page)},

		// The console, a client of the API like any other: its pages are those of pages.
		{pattern: "/assets/*", matches: console.IsAsset, methods: read, access: everyone, handler: do(g.console.Asset)},
		{pattern: console.KillPath, access: g.identity.localUser, handler: do(g.kill), off: g.deps.Kill == nil},

		// For orchestrators and monitoring. Details of /readyz need health.get, metrics their own token or metrics.get.
		{pattern: "/healthz", methods: read, access: everyone, handler: probe.Live()},
		{pattern: "/readyz", methods: read, access: everyone, handler: do(g.ops.Ready)},
		{pattern: "/metrics", methods: read, access: everyone, handler: do(g.ops.Metrics), off: g.deps.Metrics == nil},
	}...)
}

// pages are the doors of the console's pages.
func (g *Gateway) pages() []route {
	var all []route
	for _, pattern := range console.Pages() {
		all = append(all, route{
			pattern: pattern, methods: []string{http.MethodGet, http.MethodHead}, access: everyone, handler: http.HandlerFunc(g.console.Page),
		})
	}
	return all
}

// Patterns lists the patterns of all routes, whatever the configuration has.
func Patterns() []string {
	var all []string
	for _, to := range new(Gateway).routes() {
		all = append(all, to.pattern)
	}
	return all
}

// eventStreams are the streams that the API serves below apiPath.
func (g *Gateway) eventStreams() map[string]sse.Handler {
	return map[string]sse.Handler{
		"/v1/turns/{turn_id}/events": g.turnEvents, "/v1/sessions/{session_id}/events": g.streams.Session,
		"/v1/events:watch": g.streams.Events, "/v1/approvals:watch": g.streams.Approvals,
		sharedPath + "{token}/events": g.streams.Shared,
	}
}

// turnEvents serves the events of a turn as a stream, or, to callers that accept only JSON, as a page of its journal.
func (g *Gateway) turnEvents(w http.ResponseWriter, r *http.Request, vars map[string]string) {
	if !g.api.ServeJournal(w, r) {
		g.streams.Turn(w, r, vars)
	}
}

// fileHandler serves bodies that are no JSON below apiPath.
type fileHandler struct {
	method, pattern string
	handler         sse.Handler
}

// fileHandlers are the handlers of files that the API serves.
func (g *Gateway) fileHandlers() []fileHandler {
	files := upload.New(g.api, g.deps.Sessions)
	return []fileHandler{
		{http.MethodPost, "/v1/files", files.Create},
		{http.MethodGet, "/v1/files/{file_id}/content", files.Content},
		{http.MethodHead, "/v1/files/{file_id}/content", files.Content},
		{http.MethodPost, "/v1/uploads", files.Begin()},
		{http.MethodHead, "/v1/uploads/{upload_id}", files.Progress()},
		{http.MethodPatch, "/v1/uploads/{upload_id}", files.Append()},
		{http.MethodDelete, "/v1/uploads/{upload_id}", files.Abandon()},
	}
}

// handleFiles adds the handlers of files and of documents.
func (g *Gateway) handleFiles() error {
	for _, to := range g.fileHandlers() {
		if err := g.api.Handle(to.method, to.pattern, to.handler); err != nil {
			return err
		}
	}
	g.api.HandleForm(http.MethodPost, "/v1/banks/{bank_id}/documents", upload.NewDocuments(g.api, g.deps.Knowledge).Create)
	return nil
}

// serveRoute serves a request by its path. Paths are matched exactly: nothing is cleaned or redirected.
func (g *Gateway) serveRoute(w http.ResponseWriter, r *http.Request) {
	path := r.URL.Path
	if !utf8.ValidString(path) {
		problem.Write(w, r, fault.Invalid("path", "is not valid UTF-8"))
		return
	}
	for _, to := range g.table {
		if to.off || !to.has(path) {
			continue
		}
		if to.pattern != apiPath && to.pattern != sharedPath { // the API names its own
			recordRoute(r.Context(), to.pattern)
		}
		to.access(w, r, to)
		return
	}
	problem.NotFound(w, r)
}

// has reports whether a path is one of the route's.
func (to route) has(path string) bool {
	if to.matches != nil {
		return to.matches(path)
	}
	prefix, variable, _ := strings.Cut(to.pattern, "{")
	rest, ok := strings.CutPrefix(path, prefix)
	switch {
	case variable != "":
		return ok && rest != "" && !strings.Contains(rest, "/")
	case strings.HasSuffix(prefix, "/") && prefix != "/":
		return ok
	}
	return ok && rest == ""
}

// allows reports whether the route serves the request's method, and otherwise answers.
func (to route) allows(w http.ResponseWriter, r *http.Request) bool {
	if to.methods == nil || slices.Contains(to.methods, r.Method) {
		return true
	}
	problem.MethodNotAllowed(w, r, to.methods...)
	return false
}

func everyone(w http.ResponseWriter, r *http.Request, to route) {
	if to.allows(w, r) {
		to.handler.ServeHTTP(w, r)
	}
}

func publicDocument(w http.ResponseWriter, r *http.Request, to route) {
	if !protected.CORS(w, r) {
		everyone(w, r, to)
	}
}

func (i *identity) callers(w http.ResponseWriter, r *http.Request, to route) {
	i.serveCaller(w, r, authn.PeerOf(r), corsHeaders, to.handler)
}

// readers lets those without credentials read, as the anonymous principal.
func (i *identity) readers(w http.ResponseWriter, r *http.Request, to route) {
	i.serveAdmitted(w, r, corsHeaders, to.handler, func() (caller, bool) { return i.admitReader(w, r) })
}

// mcpCallers lets pages of the configured origins send all headers that they ask for: tools choose the names of some.
func (i *identity) mcpCallers(w http.ResponseWriter, r *http.Request, to route) {
	peer := authn.PeerOf(r)
	if i.cfg.MCPLogin {
		peer = authn.Peer{}
	}
	i.serveCaller(w, r, peer, r.Header.Get("Access-Control-Request-Headers"), to.handler)
}

// document serves a form of the OpenAPI document.
func document(form func() ([]byte, error)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, err := form()
		if err != nil {
			problem.Write(w, r, err)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Access-Control-Allow-Origin", "*") // the API's description is public, and viewers are web pages
		_, _ = w.Write(text)
	})
}
