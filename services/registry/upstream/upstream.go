// Package upstream calls the sources of tools: MCP servers through the bridge, HTTP APIs, Temporal workflows, and the mesh's own tools.
package upstream

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/windlass-dev/windlass/libs/canon"
	"github.com/windlass-dev/windlass/libs/credential"
	"github.com/windlass-dev/windlass/libs/egress"
	"github.com/windlass-dev/windlass/libs/envref"
	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/providerdata"
	"github.com/windlass-dev/windlass/libs/schema"
	"github.com/windlass-dev/windlass/libs/truncate"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	mcpbridgev1 "github.com/windlass-dev/windlass/proto/gen/windlass/mcpbridge/v1"
	registryv1 "github.com/windlass-dev/windlass/proto/gen/windlass/registry/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/registry/agents"
	"github.com/windlass-dev/windlass/services/registry/builtin"
	"github.com/windlass-dev/windlass/services/registry/grpccall"
	"github.com/windlass-dev/windlass/services/registry/login"
	"github.com/windlass-dev/windlass/services/registry/openapi"
	"github.com/windlass-dev/windlass/services/registry/store"
)

// Config holds the default limits of a source, which its own call timeout overrides.
type Config struct {
	// DiscoverTimeout bounds one sync.
	DiscoverTimeout time.Duration
	// CallTimeout bounds one call.
	CallTimeout time.Duration
	// BreakerFailures is how often in a row a source may be unreachable before its calls are stopped for BreakerPause.
	BreakerFailures int
	BreakerPause    time.Duration
	// RestartPatience is for how long at least a source must have been unreachable before that.
	RestartPatience time.Duration
	// MaxCalls is how many calls of one source run in parallel; more wait for QueueTimeout.
	MaxCalls     int
	QueueTimeout time.Duration
	// MaxResponseBytes limits the response of an API.
	MaxResponseBytes int64
	// Documents bounds the work on a document that describes an API.
	Documents openapi.Limits
	// EnvAllow lists the variables that the headers and credentials of APIs may refer to.
	EnvAllow []string
}

// Definitions reads stored definitions of tools.
type Definitions interface {
	// Definitions reads the existing ones of the given definitions.
	Definitions(ctx context.Context, tenant string, hashes []string) ([]store.Definition, error)
}

// Dialer returns HTTP clients and calls gRPC servers; *egress.Egress is one.
type Dialer interface {
	Client(opts egress.Options) *http.Client
	// GRPC opens connections to Temporal.
	GRPC(address string, secure bool, maxBytes int) (*grpc.ClientConn, error)
	GRPCConn(address string, secure bool) (conn grpc.ClientConnInterface, release func(), err error)
	grpccall.Caller
}

// Deps holds the dependencies of an Upstream; all are required.
type Deps struct {
	// Bridge calls MCP servers.
	Bridge mcpbridgev1.BridgeServiceClient
	// Builtin is the mesh's own tools.
	Builtin builtin.Tools
	// Egress sends requests to APIs and to Temporal.
	Egress Dialer
	// ProviderData opens the credentials of requests; nil refuses them.
	ProviderData *providerdata.Sealer
	// Vault has stored secrets; nil refuses references to them.
	Vault envref.Vault
	// Logins has the tokens of users, for sources that want a login of each user; nil refuses those.
	Logins login.Tokens
	// Agents calls agents.
	Agents agents.Client
	// Grants gets tokens of users from their issuer; nil refuses sources with the auth kind exchange.
	Grants Grants
	// Definitions has the operations of APIs.
	Definitions Definitions
	// Log receives changes of breakers.
	Log *slog.Logger
}

// Upstream calls all kinds of sources. It is safe for concurrent use.
type Upstream struct {
	cfg      Config
	bridge   mcpbridgev1.BridgeServiceClient
	builtin  builtin.Tools
	sealer   *providerdata.Sealer
	apis     *apis
	flows    *flows
	agents   agents.Client
	logins   logins
	breakers *breakers
	limits   *limits
}

// New returns an Upstream.
func New(cfg Config, deps Deps) *Upstream {
	return &Upstream{
		cfg: cfg, bridge: deps.Bridge, builtin: deps.Builtin, sealer: deps.ProviderData, apis: newAPIs(cfg, deps), flows: newFlows(cfg, deps),
		agents: deps.Agents, logins: logins{deps.Logins, deps.ProviderData, deps.Grants},
		breakers: &breakers{
			failures: uint32(max(cfg.BreakerFailures, 1)), pause: cfg.BreakerPause, patience: cfg.RestartPatience, log: deps.Log,
			bySource: map[string]breaker{},
		},
		limits: &limits{calls: max(cfg.MaxCalls, 1), queue: cfg.QueueTimeout, bySource: map[string]*limit{}},
	}
}

// Breaker returns the state of a source's breaker: "closed" (calls are sent), "open" or "half_open"; empty for the mesh's own.
func (u *Upstream) Breaker(s store.Source) string {
	if s.Kind == store.Builtin {
		return ""
	}
	return u.breakers.state(s)
}

// CallTimeout returns the timeout of one call to the source.
func (u *Upstream) CallTimeout(s store.Source) time.Duration {
	if s.Spec.CallTimeout > 0 {
		return time.Duration(s.Spec.CallTimeout) * time.Second
	}
	return u.cfg.CallTimeout
}

// Discover lists a source's tools. The error is a fault for the source's owner.
func (u *Upstream) Discover(ctx context.Context, s store.Source) (store.Inventory, error) {
	switch s.Kind {
	case store.Builtin:
		return u.meshTools()
	case store.OpenAPI, store.GraphQL:
		return u.logins.discover(ctx, s, u.discoverAPI)
	case store.HTTP:
		return u.discoverEndpoints(s)
	case store.GRPC:
		return u.discoverGRPC(ctx, s)
	case store.Workflow:
		return u.discoverWorkflows(ctx, s)
	case store.Agent:
		return u.discoverAgents(ctx, s)
	}
	return u.logins.discover(ctx, s, func(ctx context.Context, s store.Source, a as) (store.Inventory, error) {
		return discoverMCP(ctx, u, s, a)
	})
}

func discoverMCP(ctx context.Context, u *Upstream, s store.Source, a as) (store.Inventory, error) {
	ctx, cancel := context.WithTimeout(ctx, u.cfg.DiscoverTimeout+2*time.Second) // the bridge's own limit comes first
	defer cancel()
	server, err := u.logins.server(u.server(s), a)
	if err != nil {
		return store.Inventory{}, err
	}
	if a.subject == "" {
		server.Auth = authOf(syncOwner(s, a).Auth)
	}
	resp, err := u.bridge.Discover(ctx, &mcpbridgev1.DiscoverRequest{Server: server})
	if refused := refusedToken(s, err); refused != nil {
		return store.Inventory{}, refused
	}
	if err != nil {
		return store.Inventory{}, unreachable(s, err)
	}
	u.breakers.reached(s.ID)
	inv := store.Inventory{
		ServerVersion: joined(resp.GetServerName(), resp.GetServerVersion()), ProtocolVersion: resp.GetProtocolVersion(),
	}
	seen := map[string]bool{}
	var odd []string
	for _, t := range resp.GetTools() {
		shown := truncate.Bytes(noNUL(t.GetName()), 100)
		switch {
		case t.GetName() == "" || strings.Contains(t.GetName(), "\x00"):
			odd = append(odd, fmt.Sprintf("the tool %q is left out: that is not a name", shown))
			continue
		case seen[t.GetName()]: // the first one is kept
			odd = append(odd, fmt.Sprintf("the tool %q is there twice; the first one counts", shown))
			continue
		}
		seen[t.GetName()] = true
		inv.Tools = append(inv.Tools, found(t))
		if _, err := schema.Object(t.GetInputSchemaJson()); err != nil {
			odd = append(odd, fmt.Sprintf("the tool %q is not listed at /mcp, since clients could not read the schema of its arguments: %s", shown,
				err))
		}
	}
	inv.Warnings = warnings(odd)
	return inv, nil
}

func (u *Upstream) meshTools() (store.Inventory, error) {
	tools, err := u.builtin.List()
	if err != nil {
		return store.Inventory{}, err
	}
	inv := store.Inventory{ServerVersion: builtin.Version}
	for _, t := range tools {
		inv.Tools = append(inv.Tools, store.Found{
			OriginalName: t.Name, Title: t.Title, Description: t.Description, Raw: t.Raw, InputSchema: t.InputSchema, Effect: store.Read,
		})
	}
	return inv, nil
}

// Watch calls on for each event of a server, until the stream breaks or ctx ends.
func (u *Upstream) Watch(ctx context.Context, on func(serverID string, change mcpbridgev1.ServerChange)) error {
	stream, err := u.bridge.Watch(ctx, &mcpbridgev1.WatchRequest{})
	if err != nil {
		return fmt.Errorf("watch the bridge: %w", err)
	}
	for {
		event, err := stream.Recv()
		if err != nil {
			return fmt.Errorf("watch the bridge: %w", err)
		}
		on(event.GetServerId(), event.GetChange())
	}
}

// Reread has the next Discover read the source's document, even if it was just read.
func (u *Upstream) Reread(s store.Source) { u.apis.reread(s) }

// Release closes what the bridge keeps open for a source.
func (u *Upstream) Release(ctx context.Context, s store.Source) error {
	if s.Kind == store.Builtin {
		return nil
	}
	u.breakers.reached(s.ID)
	u.limits.forget(s)
	switch {
	case store.IsAPI(s.Kind):
		u.apis.forget(s)
		return nil
	case s.Kind == store.Agent:
		return nil
	case s.Kind == store.Workflow:
		u.apis.forget(s)
		u.flows.client.Forget(s)
		return nil
	}
	if _, err := u.bridge.Release(ctx, &mcpbridgev1.ReleaseRequest{ServerId: s.ID}); err != nil {
		return fmt.Errorf("release source %q: %w", s.Name, err)
	}
	return nil
}

// server converts a source for the bridge.
func (u *Upstream) server(s store.Source) *mcpbridgev1.Server {
	return &mcpbridgev1.Server{
		Id: s.ID, Tenant: s.Tenant, Name: s.Name, Url: s.Spec.URL, Command: s.Spec.Command, Env: s.Spec.Env, Dir: s.Spec.Dir,
		Headers: s.Spec.Headers, Transport: s.Spec.Transport, ClientRequests: s.Spec.ClientRequests, Auth: authOf(s.Spec.Auth),
		ConnectTimeout: durationpb.New(u.cfg.DiscoverTimeout), CallTimeout: durationpb.New(u.CallTimeout(s)),
	}
}

// authOf converts a credential for the bridge.
func authOf(a *store.Auth) *mcpbridgev1.Auth {
	if a == nil {
		return nil
	}
	p := &mcpbridgev1.Auth{
		Kind: a.Kind, In: a.In, Name: a.Name, Secret: a.Secret, Username: a.Username, TokenUrl: a.TokenURL, ClientId: a.ClientID,
		Scopes: a.Scopes, Audience: a.Audience,
	}
	if a.Kind == credential.AuthorizationCode || a.Kind == credential.Exchange { // all else is for policy
		return &mcpbridgev1.Auth{Kind: credential.AuthorizationCode}
	}
	return p
}

// found converts a tool of the bridge. A tool that is not declared harmless by its server is ONCE.
func found(t *mcpbridgev1.Tool) store.Found {
	f := store.Found{
		OriginalName: t.GetName(), Title: noNUL(t.GetTitle()), Description: noNUL(t.GetDescription()), Raw: t.GetRawJson(),
		InputSchema: t.GetInputSchemaJson(), OutputSchema: t.GetOutputSchemaJson(), Effect: store.Once,
	}
	switch {
	case t.GetReadOnlyHint():
		f.Effect = store.Read
	case t.GetIdempotentHint():
		f.Effect = store.Idempotent
	}
	return f
}

// noNUL removes NUL, which not every database can store.
func noNUL(s string) string { return strings.ReplaceAll(s, "\x00", "") }

// unreachable returns the fault of a failed sync. Faults that the owner can fix keep their reason.
func unreachable(s store.Source, err error) error {
	f := fault.From(err)
	switch {
	case f.Reason == faultv1.Reason_REASON_TOOL_UNAVAILABLE, f.Reason == faultv1.Reason_REASON_EGRESS_DENIED,
		f.Code == codes.InvalidArgument, f.Code == codes.Canceled:
		return f
	case f.Code == codes.DeadlineExceeded:
		return fault.Unavailable(faultv1.Reason_REASON_TOOL_UNAVAILABLE, "source %q did not answer in time", s.Name).Cause(err)
	default:
		return fault.Unavailable(faultv1.Reason_REASON_TOOL_UNAVAILABLE, "source %q cannot be reached: %s", s.Name, f.Message).Cause(err)
	}
}

func joined(name, version string) string {
	if name == "" || version == "" {
		return name + version
	}
	return name + " " + version
}

// Request is one call.
type Request struct {
	// Source and Tool (its own name) identify what to call, Definition is the hash of the tool's definition.
	Source     store.Source
	Tool       string
	Definition string
	// Effect is the tool's effect class.
	Effect store.Effect
	// Arguments fit the tool's schema.
	Arguments canon.Object
	// By is on whose behalf the call is made.
	By builtin.Caller
	// Meta is sent as the call's _meta.
	Meta map[string]string
	// Until is when the time of all its attempts is up; zero = an attempt has the whole time of its source.
	Until time.Time
	// CanAsk lets the tool ask the user.
	CanAsk bool
	// Accepts are the methods of an MCP server's requests that the caller answers itself.
	Accepts []string
	// LogLevel is the lowest level of log messages that the caller wants; empty = none.
	LogLevel string
	// ProviderData is what came with the request that the call is part of.
	ProviderData providerdata.Sealed
	// Token is the sealed token of the caller of a direct call; nil = none.
	Token []byte
	as    as // whose login it is made with
	// Answer is the user's answer to a question of an earlier attempt; nil = none was asked.
	Answer *registryv1.InputAnswer
}

// Reply is a tool's answer; one of the fields is set.
type Reply struct {
	// Result is its result, including errors of the tool.
	Result *turnv1.ToolResult
	// Input is what it asks the user before it continues: this attempt is over.
	Input *registryv1.InputRequired
}

// Progress is the progress of a call.
type Progress struct {
	// Done of Total, 0 = unknown.
	Done, Total float64
	// Message is one line for people.
	Message string
}

// Log is a log message of a tool's server.
type Log struct {
	// Level is one of the protocol's levels; Logger may be empty.
	Level, Logger string
	// Data is the message as JSON.
	Data []byte
}

// Notice is what comes before a call's answer; one of the fields is set.
type Notice struct {
	// Progress is the progress of the call.
	Progress *Progress
	// Log is a log message.
	Log *Log
}

// Call sends one call and returns the tool's answer. Errors are of *Error.
func (u *Upstream) Call(ctx context.Context, r Request, notice func(Notice)) (Reply, error) {
	if r.Source.Kind == store.Builtin {
		return u.callMesh(ctx, r)
	}
	given, err := u.provide(r)
	if err != nil {
		return Reply{}, &Error{Kind: NotSent, Fault: fault.From(err)}
	}
	end, failure := u.limits.enter(ctx, r.Source)
	if failure != nil {
		return Reply{}, failure
	}
	defer end()
	return u.logins.call(ctx, r, func(r Request) (Reply, error) { return callSource(ctx, u, r, given, notice) })
}

func callSource(ctx context.Context, u *Upstream, r Request, given providerdata.Data, notice func(Notice)) (Reply, error) {
	if r.Source.Kind == store.GRPC {
		return u.breakers.call(r.Source, func() (Reply, error) { return u.callGRPC(ctx, r, given) })
	}
	if store.IsAPI(r.Source.Kind) {
		return u.breakers.call(r.Source, func() (Reply, error) { return u.callAPI(ctx, r, given) })
	}
	switch r.Source.Kind {
	case store.Workflow:
		return u.breakers.call(r.Source, func() (Reply, error) { return u.callWorkflow(ctx, r) })
	case store.Agent:
		return u.breakers.call(r.Source, func() (Reply, error) { return callAgent(ctx, u, r) })
	}
	return u.breakers.call(r.Source, func() (Reply, error) { return u.callBridge(ctx, r, given, notice) })
}

func (u *Upstream) callMesh(ctx context.Context, r Request) (Reply, error) {
	if r.Tool == builtin.AskUser {
		return askUser(r)
	}
	text, ok, err := u.builtin.Call(ctx, r.Tool, r.Arguments, r.By)
	if !ok {
		return Reply{}, &Error{Kind: NotSent, Fault: fault.NotFound("the mesh has no tool %q", r.Tool).Cause(err)}
	}
	if builtin.Away(err) {
		return Reply{}, &Error{Kind: InDoubt, Fault: fault.From(err)} // all of them only read: they may be repeated
	}
	if err != nil {
		return Reply{Result: textResult(err.Error(), true)}, nil
	}
	return Reply{Result: textResult(text, false)}, nil
}

func textResult(text string, isError bool) *turnv1.ToolResult {
	return &turnv1.ToolResult{
		Content: []*turnv1.ContentPart{{Part: &turnv1.ContentPart_Text{Text: text}}}, IsError: isError,
	}
}
