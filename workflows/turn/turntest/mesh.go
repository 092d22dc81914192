// Package turntest has fakes of the services that run a turn: a journal in memory that behaves as the sessions service does, a scripted
// model, tools that are functions, and shields. Runners call them through generated clients over the in-memory network.
package turntest

import (
	"context"
	"log/slog"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"

	"github.com/windlass-dev/windlass/libs/bus"
	"github.com/windlass-dev/windlass/libs/rpc/rpctest"
	executionv1 "github.com/windlass-dev/windlass/proto/gen/windlass/execution/v1"
	inferencev1 "github.com/windlass-dev/windlass/proto/gen/windlass/inference/v1"
	knowledgev1 "github.com/windlass-dev/windlass/proto/gen/windlass/knowledge/v1"
	policyv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policy/v1"
	registryv1 "github.com/windlass-dev/windlass/proto/gen/windlass/registry/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/workflows/turn/step/runner"
)

// Generate answers one model call.
type Generate func(req *inferencev1.GenerateRequest, stream grpc.ServerStreamingServer[inferencev1.GenerateResponse]) error

// Call answers one tool call.
type Call func(req *registryv1.CallToolRequest, stream grpc.ServerStreamingServer[registryv1.CallToolResponse]) error

// Mesh holds the services that a runner calls.
type Mesh struct {
	// Journal stores the turns.
	Journal *Journal
	// Bus runs in the process.
	Bus *bus.Bus

	deps runner.Deps

	mu      sync.Mutex
	model   Generate
	window  int32
	prices  map[string]*turnv1.Price
	tool    Call
	asked   []*inferencev1.GenerateRequest
	called  []*registryv1.CallToolRequest
	stopped []string // keys
	tools   []*registryv1.Tool
	faults  map[string][]error
	facts   []*knowledgev1.RecalledFact
	// passages are what the banks of agents have.
	passages []*knowledgev1.FoundPassage
	// searched are the inputs that facts and passages were searched for.
	searched []string
}

// New starts a mesh that runs until the test ends. By default the model answers "ok" and tools return their arguments.
func New(t testing.TB, tools ...*registryv1.Tool) *Mesh {
	t.Helper()
	m := newMesh(t, bus.Config{URL: bus.Embedded}, tools)
	conn := rpctest.Serve(t, "mesh", m.register)
	m.deps = depsOn(conn, m.Bus)
	return m
}

func newMesh(t testing.TB, cfg bus.Config, tools []*registryv1.Tool) *Mesh {
	t.Helper()
	b, err := bus.Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		if err := b.Close(ctx); err != nil {
			t.Errorf("close bus: %v", err)
		}
	})
	m := &Mesh{Bus: b, tools: tools, model: Say("ok"), tool: Echo, faults: map[string][]error{}}
	m.Journal = newJournal(m)
	return m
}

func (m *Mesh) register(r grpc.ServiceRegistrar) {
	executionv1.RegisterExecutionServiceServer(r, m.Journal)
	registryv1.RegisterToolExecutionServiceServer(r, &registry{mesh: m})
	inferencev1.RegisterInferenceServiceServer(r, &inference{mesh: m})
	policyv1.RegisterPolicyServiceServer(r, &policy{mesh: m})
	knowledgev1.RegisterRecallServiceServer(r, &recall{mesh: m})
}

func depsOn(conn grpc.ClientConnInterface, b *bus.Bus) runner.Deps {
	return runner.Deps{
		Sessions: executionv1.NewExecutionServiceClient(conn), Tools: registryv1.NewToolExecutionServiceClient(conn),
		Inference: inferencev1.NewInferenceServiceClient(conn), Shields: policyv1.NewPolicyServiceClient(conn), Bus: b,
		Facts: knowledgev1.NewRecallServiceClient(conn), Log: slog.New(slog.DiscardHandler),
	}
}

// Deps returns the dependencies of a runner on this mesh.
func (m *Mesh) Deps() runner.Deps { return m.deps }

// Model sets the function that answers model calls.
func (m *Mesh) Model(f Generate) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.model = f
}

// Window sets the model's context window in tokens. Until then it is unknown.
func (m *Mesh) Window(tokens int32) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.window = tokens
}

// Prices sets the prices of models by their names. Until then they have none.
func (m *Mesh) Prices(of map[string]*turnv1.Price) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.prices = of
}

// Tool sets the function that answers tool calls.
func (m *Mesh) Tool(f Call) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.tool = f
}

// Fail queues results for the next calls of an RPC, for example "CommitStep": each error fails one call, and nil lets one pass.
func (m *Mesh) Fail(rpc string, errs ...error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.faults[rpc] = append(m.faults[rpc], errs...)
}

// Asked returns the model calls so far.
func (m *Mesh) Asked() []*inferencev1.GenerateRequest {
	m.mu.Lock()
	defer m.mu.Unlock()
	return append([]*inferencev1.GenerateRequest(nil), m.asked...)
}

// Called returns the tool calls so far.
func (m *Mesh) Called() []*registryv1.CallToolRequest {
	m.mu.Lock()
	defer m.mu.Unlock()
	return append([]*registryv1.CallToolRequest(nil), m.called...)
}

// Stopped returns the keys of the tool calls that were stopped so far.
func (m *Mesh) Stopped() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return append([]string(nil), m.stopped...)
}

// fault removes and returns the next result queued for an RPC, nil if there is none.
func (m *Mesh) fault(rpc string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	queue := m.faults[rpc]
	if len(queue) == 0 {
		return nil
	}
	m.faults[rpc] = queue[1:]
	return queue[0]
}
