package registry_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/bus"
	"github.com/windlass-dev/windlass/libs/egress"
	"github.com/windlass-dev/windlass/libs/enum"
	"github.com/windlass-dev/windlass/libs/rpc/rpctest"
	"github.com/windlass-dev/windlass/libs/sqldb"
	"github.com/windlass-dev/windlass/libs/testdb"
	"github.com/windlass-dev/windlass/libs/testmain"
	"github.com/windlass-dev/windlass/libs/testpg"
	"github.com/windlass-dev/windlass/libs/testpoll"
	mcpbridgev1 "github.com/windlass-dev/windlass/proto/gen/windlass/mcpbridge/v1"
	policyv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policy/v1"
	registryv1 "github.com/windlass-dev/windlass/proto/gen/windlass/registry/v1"
	"github.com/windlass-dev/windlass/services/registry"
	"github.com/windlass-dev/windlass/services/registry/builtin"
	"github.com/windlass-dev/windlass/services/registry/store"
	"github.com/windlass-dev/windlass/services/registry/upstream"
)

func TestMain(m *testing.M) { testmain.Verify(testpg.Main{M: m}) }

// tables are copied for each test.
var tables = testdb.New("registry", store.Migrate)

// world is a database, a bridge and a policy service, shared by registries that start and stop.
type world struct {
	t      testing.TB
	db     *sqldb.DB
	bridge *bridgeFake
	policy *policyFake

	bridgeClient mcpbridgev1.BridgeServiceClient
	policyClient policyv1.PolicyServiceClient
	artifacts    *artifacts
	knowledge    *knowledge // nil: there are no documents
	sessions     *sessions
	agents       *agentsFake
	egress       *egress.Egress
	grants       *grantsFake
	bus          *bus.Bus // nil: replicas have no cache
}

func newWorld(t testing.TB) *world {
	t.Helper()
	return newWorldOn(t, tables.SQLite(t))
}

func newWorldOn(t testing.TB, url string) *world {
	t.Helper()
	db, err := sqldb.Open(t.Context(), sqldb.Config{URL: url, Schema: "registry", MaxConns: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	w := &world{t: t, db: db, bridge: newBridge(), policy: &policyFake{allow: []string{"*"}}}
	as := rpctest.WithPrincipal(authn.Service("registry"))
	w.bridgeClient = mcpbridgev1.NewBridgeServiceClient(rpctest.ServeAs(t, "mcpbridge", func(r grpc.ServiceRegistrar) {
		mcpbridgev1.RegisterBridgeServiceServer(r, w.bridge)
	}, as))
	w.artifacts, w.sessions = &artifacts{}, &sessions{}
	w.agents = newAgents("writer", "critic")
	w.egress, err = egress.New(egress.Config{Profile: egress.Local})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.egress.CloseIdle)
	w.policyClient = policyv1.NewPolicyServiceClient(rpctest.ServeAs(t, "policy", func(r grpc.ServiceRegistrar) {
		policyv1.RegisterPolicyServiceServer(r, w.policy)
	}, as))
	return w
}

// replica is one registry with its clients.
type replica struct {
	*registry.Service
	w       *world
	sources registryv1.SourceServiceClient
	tools   registryv1.ToolServiceClient
	groups  registryv1.ToolGroupServiceClient
	calls   registryv1.ToolExecutionServiceClient
	cache   registryv1.ToolCacheServiceClient
	// analytics reads the ledger.
	analytics registryv1.ToolAnalyticsServiceClient
	stop      func() // ends Run and waits for it
}

// config returns short times for tests.
func config() registry.Config {
	cfg := registry.Config{EnvAllow: []string{"WINDLASS_TOOL_*"}}
	cfg.LeaseTTL, cfg.DrainTimeout, cfg.SyncEvery = 200*time.Millisecond, 50*time.Millisecond, time.Hour
	cfg.Cache.Disabled = true
	cfg.SyncRetry, cfg.CallRetry = 5*time.Millisecond, 5*time.Millisecond
	cfg.RestartPatience = time.Nanosecond // a source that is away is tried three times
	return cfg
}

// start runs a registry until the test ends or stop is called.
func (w *world) start(cfg registry.Config) *replica {
	w.t.Helper()
	return w.startOn(w.db, cfg)
}

// startOn is start with its own database handle.
func (w *world) startOn(db *sqldb.DB, cfg registry.Config) *replica {
	w.t.Helper()
	r := w.asleepOn(db, cfg)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- r.Run(ctx) }()
	stopped := false
	r.stop = func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		if err := <-done; err != nil {
			w.t.Errorf("Run: %v", err)
		}
	}
	w.t.Cleanup(r.stop)
	return r
}

// asleep starts a registry that answers calls but sends no heartbeats, as if it had been killed.
func (w *world) asleep(cfg registry.Config) *replica {
	w.t.Helper()
	return w.asleepOn(w.db, cfg)
}

func (w *world) asleepOn(db *sqldb.DB, cfg registry.Config) *replica {
	w.t.Helper()
	var grants upstream.Grants // nil without a fake
	if w.grants != nil {
		grants = w.grants
	}
	var documents builtin.Knowledge
	if w.knowledge != nil {
		documents = builtin.Knowledge{Search: w.knowledge, Documents: w.knowledge}
	}
	s, err := registry.New(cfg, registry.Deps{
		Grants: grants, Knowledge: documents,
		DB: db, Policy: w.policyClient, Bridge: w.bridgeClient, Egress: w.egress, Bus: w.bus, Artifacts: w.artifacts,
		Sessions: w.sessions, Agents: w.sessions, ProviderData: testSealer(w.t), Results: resultSealer(w.t), AgentCalls: w.agents.client(),
		Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { // calls must end before the database is closed
		ended, end := context.WithCancel(context.Background())
		end()
		if err := s.Run(ended); err != nil {
			w.t.Errorf("Run: %v", err)
		}
	})
	conn := rpctest.Serve(w.t, "registry", func(r grpc.ServiceRegistrar) { s.Register(r) })
	return &replica{
		Service: s, w: w, sources: registryv1.NewSourceServiceClient(conn), tools: registryv1.NewToolServiceClient(conn),
		calls: registryv1.NewToolExecutionServiceClient(conn), groups: registryv1.NewToolGroupServiceClient(conn),
		cache: registryv1.NewToolCacheServiceClient(conn), analytics: registryv1.NewToolAnalyticsServiceClient(conn),
	}
}

// tool returns a tool with a schema of one required string "text"; class is "read", "idempotent" or "once".
func tool(name, class string) *mcpbridgev1.Tool {
	schema := `{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]}`
	t := &mcpbridgev1.Tool{
		Name: name, Description: "does " + name, InputSchemaJson: []byte(schema),
		RawJson: []byte(`{"name":"` + name + `","x-class":"` + class + `","inputSchema":` + schema + `}`),
	}
	yes := true
	switch class {
	case "read":
		t.ReadOnlyHint = &yes
	case "idempotent":
		t.IdempotentHint = &yes
	}
	return t
}

// notes creates the source "notes" with one tool of each class.
func (r *replica) notes() *registryv1.Source {
	r.w.t.Helper()
	r.w.bridge.set(func() {
		r.w.bridge.tools["notes"] = []*mcpbridgev1.Tool{tool("read", "read"), tool("put", "idempotent"), tool("send", "once")}
	})
	src, err := r.sources.CreateSource(r.w.t.Context(), &registryv1.CreateSourceRequest{Source: &registryv1.Source{
		Name: "notes", Kind: "mcp", Url: "http://127.0.0.1:9/mcp",
	}})
	if err != nil {
		r.w.t.Fatal(err)
	}
	if enum.Name(src.GetState()) != "ready" {
		r.w.t.Fatalf("source is %s: %s", src.GetState(), src.GetLastError())
	}
	return src
}

// pinned returns a tool's present definition.
func (r *replica) pinned(name string) *registryv1.Tool {
	r.w.t.Helper()
	resp, err := r.calls.ResolveTools(r.w.t.Context(), &registryv1.ResolveToolsRequest{Globs: []string{name}, Principal: authn.Local()})
	if err != nil || len(resp.GetTools()) != 1 {
		r.w.t.Fatalf("resolve %s: %v, %v", name, resp, err)
	}
	return resp.GetTools()[0]
}

// request returns a call of a turn.
func (r *replica) request(name, key string) *registryv1.CallToolRequest {
	r.w.t.Helper()
	return &registryv1.CallToolRequest{
		Principal: authn.Local(), Tool: name, DefinitionHash: r.pinned(name).GetDefinitionHash(), ArgumentsJson: `{"text":"hi"}`,
		TurnId: "trn_1", SessionId: "ses_1", CallId: "call_1", Key: key,
	}
}

// story collects the messages of a call.
type story struct {
	decided   *registryv1.Decided
	executing *registryv1.Executing
	progress  []*registryv1.Progress
	completed *registryv1.Completed
	approval  *registryv1.ApprovalRequired
	input     *registryv1.InputRequired
	authorize *registryv1.AuthorizationRequired
	err       error
}

func (s story) text() string {
	if c := s.completed.GetResult().GetContent(); len(c) > 0 {
		return c[0].GetText()
	}
	return ""
}

// call runs a call to its end.
func (r *replica) call(ctx context.Context, req *registryv1.CallToolRequest) (s story) {
	stream, err := r.calls.CallTool(ctx, req)
	if err != nil {
		return story{err: err}
	}
	for {
		msg, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return s
		}
		if err != nil {
			s.err = err
			return s
		}
		switch e := msg.GetEvent().(type) {
		case *registryv1.CallToolResponse_Decided:
			s.decided = e.Decided
		case *registryv1.CallToolResponse_Executing:
			s.executing = e.Executing
		case *registryv1.CallToolResponse_Progress:
			s.progress = append(s.progress, e.Progress)
		case *registryv1.CallToolResponse_Completed:
			s.completed = e.Completed
		case *registryv1.CallToolResponse_ApprovalRequired:
			s.approval = e.ApprovalRequired
		case *registryv1.CallToolResponse_InputRequired:
			s.input = e.InputRequired
		case *registryv1.CallToolResponse_AuthorizationRequired:
			s.authorize = e.AuthorizationRequired
		}
	}
}

// begin starts a call and waits until it is sent; the channel receives the story.
func (r *replica) begin(ctx context.Context, req *registryv1.CallToolRequest) <-chan story {
	r.w.t.Helper()
	before := len(r.w.bridge.seen())
	done := make(chan story, 1)
	go func() { done <- r.call(ctx, req) }()
	testpoll.Until(r.w.t, "the call is sent", func() bool { return len(r.w.bridge.seen()) > before })
	return done
}

// row returns the ledger's row of a key.
func (r *replica) row(key string) *registryv1.Execution {
	r.w.t.Helper()
	resp, err := r.tools.ListExecutions(r.w.t.Context(), &registryv1.ListExecutionsRequest{})
	if err != nil {
		r.w.t.Fatal(err)
	}
	for _, e := range resp.GetExecutions() {
		if e.GetKey() == key {
			return e
		}
	}
	return nil
}

func args(t testing.TB, m map[string]any) *structpb.Struct {
	t.Helper()
	s, err := structpb.NewStruct(m)
	if err != nil {
		t.Fatal(err)
	}
	return s
}
