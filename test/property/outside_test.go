package property

import (
	"context"
	"encoding/json"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"

	"github.com/windlass-dev/windlass/libs/fault"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	inferencev1 "github.com/windlass-dev/windlass/proto/gen/windlass/inference/v1"
	mcpbridgev1 "github.com/windlass-dev/windlass/proto/gen/windlass/mcpbridge/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
)

// effects is a tool server that counts what its tools have done. Each call names itself by the argument "n".
type effects struct {
	mcpbridgev1.UnimplementedBridgeServiceServer
	mu   sync.Mutex
	done map[string]int
	// around runs what a call does; nil = at once.
	around func(act func()) error
}

func newEffects() *effects { return &effects{done: map[string]int{}} }

// of returns how often the call was run.
func (e *effects) of(n string) int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.done[n]
}

// Discover implements BridgeServiceServer.
func (e *effects) Discover(context.Context, *mcpbridgev1.DiscoverRequest) (*mcpbridgev1.DiscoverResponse, error) {
	tool := func(name string, read, idempotent bool) *mcpbridgev1.Tool {
		const schema = `{"type":"object","properties":{"n":{"type":"string"}},"required":["n"]}`
		return &mcpbridgev1.Tool{
			Name: name, Description: name, InputSchemaJson: []byte(schema), ReadOnlyHint: &read, IdempotentHint: &idempotent,
			RawJson: []byte(`{"name":"` + name + `","inputSchema":` + schema + `}`),
		}
	}
	return &mcpbridgev1.DiscoverResponse{Tools: []*mcpbridgev1.Tool{
		tool("read", true, false), tool("put", false, true), tool("send", false, false), tool("risky", false, false),
		tool("doubt", false, false), tool("ask", false, false),
	}}, nil
}

// CallTool implements BridgeServiceServer: "doubt" never says what became of its calls, "ask" asks somebody first.
func (e *effects) CallTool(req *mcpbridgev1.CallToolRequest, stream grpc.ServerStreamingServer[mcpbridgev1.CallToolResponse]) error {
	var args struct{ N string }
	if err := json.Unmarshal(req.GetArgumentsJson(), &args); err != nil {
		return fault.Invalid("arguments_json", "%v", err)
	}
	if req.GetTool() == "ask" && req.GetAnswer() == nil {
		return stream.Send(&mcpbridgev1.CallToolResponse{Event: &mcpbridgev1.CallToolResponse_InputRequired{
			InputRequired: &mcpbridgev1.InputRequired{Message: "really?", SchemaJson: `{"type":"object"}`, State: []byte("asked")},
		}})
	}
	act := func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		e.done[args.N]++
	}
	if e.around == nil {
		act()
	} else if err := e.around(act); err != nil {
		return err
	}
	if req.GetTool() == "doubt" {
		return fault.New(codes.Aborted, faultv1.Reason_REASON_OUTCOME_UNKNOWN, "the connection broke")
	}
	return stream.Send(&mcpbridgev1.CallToolResponse{Event: &mcpbridgev1.CallToolResponse_Result{Result: &mcpbridgev1.CallToolResult{
		Content: []*turnv1.ContentPart{{Part: &turnv1.ContentPart_Text{Text: "did " + args.N}}},
	}}})
}

// Watch implements BridgeServiceServer.
func (e *effects) Watch(_ *mcpbridgev1.WatchRequest, stream grpc.ServerStreamingServer[mcpbridgev1.WatchResponse]) error {
	<-stream.Context().Done()
	return stream.Context().Err()
}

// heard is what the inference service was told.
type heard struct {
	mu    sync.Mutex
	calls map[string][]*inferencev1.GenerateRequest // by turn
}

func newHeard() *heard { return &heard{calls: map[string][]*inferencev1.GenerateRequest{}} }

// hearing registers an inference service that notes what it is told.
type hearing struct {
	grpc.ServiceRegistrar
	heard *heard
}

// RegisterService implements grpc.ServiceRegistrar.
func (h hearing) RegisterService(desc *grpc.ServiceDesc, service any) {
	models, _ := service.(inferencev1.InferenceServiceServer) // the only service that inference has
	h.ServiceRegistrar.RegisterService(desc, noting{models, h.heard})
}

// noting is an inference service that notes what it is told.
type noting struct {
	inferencev1.InferenceServiceServer
	*heard
}

// Generate implements InferenceServiceServer.
func (h noting) Generate(req *inferencev1.GenerateRequest, stream grpc.ServerStreamingServer[inferencev1.GenerateResponse]) error {
	h.mu.Lock()
	h.calls[req.GetTurnId()] = append(h.calls[req.GetTurnId()], req)
	h.mu.Unlock()
	return h.InferenceServiceServer.Generate(req, stream)
}

// of returns the model calls of a turn.
func (h *heard) of(turn string) []*inferencev1.GenerateRequest {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.calls[turn]
}
