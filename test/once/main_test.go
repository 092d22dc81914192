// Package once holds tool servers of all kinds against the promise of the effect classes: how often a call reaches its server,
// under which key, and what its caller is told, through registry and bridge as they run in the mesh.
package once

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"

	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/config"
	"github.com/windlass-dev/windlass/libs/egress"
	"github.com/windlass-dev/windlass/libs/enum"
	"github.com/windlass-dev/windlass/libs/rpc/rpctest"
	"github.com/windlass-dev/windlass/libs/sqldb"
	"github.com/windlass-dev/windlass/libs/testmain"
	mcpbridgev1 "github.com/windlass-dev/windlass/proto/gen/windlass/mcpbridge/v1"
	policyv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policy/v1"
	registryv1 "github.com/windlass-dev/windlass/proto/gen/windlass/registry/v1"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	"github.com/windlass-dev/windlass/services/mcpbridge"
	"github.com/windlass-dev/windlass/services/policy"
	"github.com/windlass-dev/windlass/services/registry"
	"github.com/windlass-dev/windlass/services/registry/agents"
	"github.com/windlass-dev/windlass/test/harness"
)

// TestMain makes this program a tool server where a test starts it as one.
func TestMain(m *testing.M) {
	switch os.Getenv("WINDLASS_TEST_SERVER") {
	case "stdio":
		serveStdio()
	case "replica":
		serveReplica()
	case "api":
		serveAPI()
	default:
		testmain.Verify(m)
	}
}

// The classes, as the tools are named too.
const (
	read       = "read"
	idempotent = "idempotent"
	once       = "once"
)

// mesh is what a tool call passes through.
type mesh struct {
	t       *testing.T
	sources registryv1.SourceServiceClient
	tools   registryv1.ToolServiceClient
	calls   registryv1.ToolExecutionServiceClient
	pinned  map[string]string // definitions' hashes by tool
}

// newMesh starts a mesh; each of change may change the registry's configuration.
func newMesh(t *testing.T, change ...func(*registry.Config)) *mesh {
	t.Helper()
	log := slog.New(slog.DiscardHandler)
	out, err := egress.New(egress.Config{Profile: egress.Local})
	harness.Must(t, err)
	t.Cleanup(out.CloseIdle)
	bridgeConfig := config.Default[mcpbridge.Config]()
	bridgeConfig.Programs, bridgeConfig.Limits.Memory = []string{"*"}, 0 // the race detector of the servers maps terabytes
	bridgeConfig.ReconnectMin, bridgeConfig.ReconnectMax, bridgeConfig.DiscoverTimeout = time.Millisecond, 10*time.Millisecond, 30*time.Second
	bridge, err := mcpbridge.New(bridgeConfig, mcpbridge.Deps{Egress: out, Log: log})
	harness.Must(t, err)
	rules, err := policy.New(policy.DefaultConfig(), policy.Deps{DB: open(t, "policy"), Log: log})
	harness.Must(t, err)
	as := rpctest.WithPrincipal(authn.Service("registry"))
	cfg := config.Default[registry.Config]()
	cfg.CallRetry, cfg.BreakerFailures, cfg.LeaseTTL, cfg.SyncEvery = time.Millisecond, 1<<30, time.Minute, time.Hour
	cfg.RestartPatience, cfg.Cache.Disabled = time.Nanosecond, true
	for _, f := range change {
		f(&cfg)
	}
	tools, err := registry.New(cfg, registry.Deps{
		DB: open(t, "registry"), Log: log, Artifacts: noArtifacts{}, Egress: out, Sessions: noSessions{}, Agents: noSessions{},
		AgentCalls: noAgents(),
		Bridge:     mcpbridgev1.NewBridgeServiceClient(rpctest.ServeAs(t, "mcpbridge", func(r grpc.ServiceRegistrar) { bridge.Register(r) }, as)),
		Policy:     policyv1.NewPolicyServiceClient(rpctest.ServeAs(t, "policy", func(r grpc.ServiceRegistrar) { rules.Register(r) }, as)),
	})
	harness.Must(t, err)
	conn := rpctest.Serve(t, "registry", func(r grpc.ServiceRegistrar) { tools.Register(r) })
	run(t, bridge.Run)
	run(t, tools.Run)
	return &mesh{
		t, registryv1.NewSourceServiceClient(conn), registryv1.NewToolServiceClient(conn), registryv1.NewToolExecutionServiceClient(conn),
		map[string]string{},
	}
}

// noAgents are clients that no test uses.
func noAgents() agents.Client {
	return agents.Client{
		Agents: sessionsv1.NewAgentServiceClient(nil), Sessions: sessionsv1.NewSessionServiceClient(nil),
		Turns: sessionsv1.NewTurnServiceClient(nil),
	}
}

type noArtifacts struct{}

func (noArtifacts) ReadArtifact(context.Context, *sessionsv1.ReadArtifactRequest, ...grpc.CallOption) (*sessionsv1.ReadArtifactResponse,
	error,
) {
	return nil, errors.New("there are no artifacts here")
}

// noSessions has no session or agent: no source here asks for their context.
type noSessions struct {
	sessionsv1.SessionServiceClient
	sessionsv1.AgentServiceClient
}

func open(t *testing.T, service string) *sqldb.DB {
	t.Helper()
	db, err := sqldb.Open(t.Context(), sqldb.Config{URL: "sqlite:" + filepath.Join(t.TempDir(), service+".db"), Schema: service})
	harness.Must(t, err)
	t.Cleanup(func() { harness.Must(t, db.Close()) })
	return db
}

func run(t *testing.T, f func(context.Context) error) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- f(ctx) }()
	t.Cleanup(func() {
		cancel()
		harness.Must(t, <-done)
	})
}

// source adds a source with one tool of each class.
func (m *mesh) source(s *registryv1.Source) {
	m.t.Helper()
	if s.GetKind() == "" {
		s.Kind = "mcp"
	}
	got, err := m.sources.CreateSource(m.t.Context(), &registryv1.CreateSourceRequest{Source: s})
	harness.Must(m.t, err)
	if enum.Name(got.GetState()) != "ready" {
		m.t.Fatalf("source %s is %s: %s", s.GetName(), got.GetState(), got.GetLastError())
	}
	tools, err := m.calls.ResolveTools(m.t.Context(),
		&registryv1.ResolveToolsRequest{Globs: []string{s.GetName() + "__*"}, Principal: authn.Local()})
	harness.Must(m.t, err)
	for _, tool := range tools.GetTools() {
		m.pinned[tool.GetName()] = tool.GetDefinitionHash()
	}
}

// told is what the caller of a tool learns.
type told struct {
	text, code string
	isError    bool
	unresolved bool
}

// String names the kind of answer.
func (a told) String() string {
	switch {
	case a.unresolved && a.code == "outcome_unknown":
		return "unknown"
	case strings.Contains(a.text, "was not called"):
		return "not called"
	case a.code == "" && !a.isError:
		return "result"
	case a.code == "" && a.isError:
		return "error"
	case a.code == "tool_unavailable" && strings.Contains(a.text, "gave no answer"), a.code == "deadline_exceeded":
		return "no answer"
	}
	return fmt.Sprintf("%s %q", a.code, a.text)
}

// call calls a tool in the way of a turn.
func (m *mesh) call(source, tool, key string) told { return m.callWith(source, tool, key, "{}") }

func (m *mesh) callWith(source, tool, key, arguments string) told {
	name := source + "__" + tool
	stream, err := m.calls.CallTool(m.t.Context(), &registryv1.CallToolRequest{
		Principal: authn.Local(), Tool: name, DefinitionHash: m.pinned[name], ArgumentsJson: arguments,
		TurnId: "trn_1", SessionId: "ses_1", CallId: "call_1", Key: key,
	})
	for err == nil {
		var msg *registryv1.CallToolResponse
		if msg, err = stream.Recv(); err != nil {
			break
		}
		if c := msg.GetCompleted(); c != nil {
			a := told{code: c.GetCode(), isError: c.GetResult().GetIsError(), unresolved: c.GetUnresolved()}
			for _, p := range c.GetResult().GetContent() {
				a.text += p.GetText()
			}
			return a
		}
	}
	if errors.Is(err, io.EOF) {
		return told{code: "the stream ended"}
	}
	return told{code: err.Error()}
}
