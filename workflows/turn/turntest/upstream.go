package turntest

import (
	"context"
	"fmt"
	"strings"

	"google.golang.org/grpc"

	inferencev1 "github.com/windlass-dev/windlass/proto/gen/windlass/inference/v1"
	registryv1 "github.com/windlass-dev/windlass/proto/gen/windlass/registry/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/workflows/contract/executiontest"
)

// ModelName is the model to which every name resolves.
const ModelName = "test/model"

type inference struct {
	inferencev1.UnimplementedInferenceServiceServer
	mesh *Mesh
}

func (i *inference) ResolveModel(context.Context, *inferencev1.ResolveModelRequest) (*inferencev1.Model, error) {
	if err := i.mesh.fault("ResolveModel"); err != nil {
		return nil, err
	}
	i.mesh.mu.Lock()
	defer i.mesh.mu.Unlock()
	return &inferencev1.Model{
		Name: ModelName, Provider: "test", SupportsTools: true, ContextWindow: i.mesh.window, Price: i.mesh.prices[ModelName],
	}, nil
}

func (i *inference) ResolveChain(ctx context.Context, req *inferencev1.ResolveChainRequest) (*inferencev1.Chain, error) {
	m, err := i.ResolveModel(ctx, nil)
	if err != nil {
		return nil, err
	}
	out := &inferencev1.Chain{Targets: []*inferencev1.ChainTarget{{Model: m}}}
	i.mesh.mu.Lock()
	defer i.mesh.mu.Unlock()
	for _, name := range req.GetFallbacks() {
		out.Targets = append(out.Targets, &inferencev1.ChainTarget{Model: &inferencev1.Model{
			Name: name, Provider: "test", SupportsTools: true, Price: i.mesh.prices[name],
		}})
	}
	return out, nil
}

func (i *inference) Generate(req *inferencev1.GenerateRequest, stream grpc.ServerStreamingServer[inferencev1.GenerateResponse]) error {
	i.mesh.mu.Lock()
	i.mesh.asked = append(i.mesh.asked, req)
	model := i.mesh.model
	i.mesh.mu.Unlock()
	if err := i.mesh.fault("Generate"); err != nil {
		return err
	}
	return model(req, stream)
}

type registry struct {
	registryv1.UnimplementedToolExecutionServiceServer
	mesh *Mesh
}

func (r *registry) ResolveTools(_ context.Context, req *registryv1.ResolveToolsRequest) (*registryv1.ResolveToolsResponse, error) {
	if err := r.mesh.fault("ResolveTools"); err != nil {
		return nil, err
	}
	return &registryv1.ResolveToolsResponse{Tools: r.mesh.tools, Others: req.GetOthers()}, nil
}

func (r *registry) GetDefinitions(_ context.Context, req *registryv1.GetDefinitionsRequest) (*registryv1.GetDefinitionsResponse, error) {
	if err := r.mesh.fault("GetDefinitions"); err != nil {
		return nil, err
	}
	resp := &registryv1.GetDefinitionsResponse{}
	for _, hash := range req.GetHashes() {
		for _, t := range r.mesh.tools {
			if t.GetDefinitionHash() == hash {
				resp.Tools = append(resp.Tools, t)
			}
		}
	}
	return resp, nil
}

func (r *registry) CallTool(req *registryv1.CallToolRequest, stream grpc.ServerStreamingServer[registryv1.CallToolResponse]) error {
	r.mesh.mu.Lock()
	r.mesh.called = append(r.mesh.called, req)
	tool := r.mesh.tool
	r.mesh.mu.Unlock()
	if err := r.mesh.fault("CallTool"); err != nil {
		return err
	}
	return tool(req, stream)
}

func (r *registry) StopCall(_ context.Context, req *registryv1.StopCallRequest) (*registryv1.StopCallResponse, error) {
	r.mesh.mu.Lock()
	defer r.mesh.mu.Unlock()
	r.mesh.stopped = append(r.mesh.stopped, req.GetKey())
	return &registryv1.StopCallResponse{Stopped: true}, nil
}

// Tool returns the definition of a tool, for New.
func Tool(name string) *registryv1.Tool {
	return &registryv1.Tool{
		Name: name, Description: "tool " + name, InputSchemaJson: `{"type":"object"}`, DefinitionHash: "hash-" + name,
		Effect: turnv1.EffectClass_EFFECT_CLASS_READ,
	}
}

// Say returns a model that answers with the words, each in its own delta.
func Say(words ...string) Generate {
	return func(_ *inferencev1.GenerateRequest, stream grpc.ServerStreamingServer[inferencev1.GenerateResponse]) error {
		for _, w := range words {
			if err := stream.Send(&inferencev1.GenerateResponse{Event: &inferencev1.GenerateResponse_TextDelta{TextDelta: w}}); err != nil {
				return err
			}
		}
		return End(stream, &inferencev1.Finished{FinishReason: "stop", Text: strings.Join(words, "")})
	}
}

// End sends the end of an answer, with default usage if none is set.
func End(stream grpc.ServerStreamingServer[inferencev1.GenerateResponse], f *inferencev1.Finished) error {
	f.Model = ModelName
	if f.GetUsage() == nil {
		f.Usage = &turnv1.Usage{InputTokens: 10, OutputTokens: 5}
	}
	return stream.Send(&inferencev1.GenerateResponse{Event: &inferencev1.GenerateResponse_Finished{Finished: f}})
}

// CallTools returns a model that requests calls of a tool and then answers "done". perRound has the number of calls in each round.
func CallTools(tool string, perRound ...int) Generate {
	return func(req *inferencev1.GenerateRequest, stream grpc.ServerStreamingServer[inferencev1.GenerateResponse]) error {
		round := 0
		for _, m := range req.GetMessages() {
			if m.GetRole() == turnv1.Role_ROLE_ASSISTANT && m.GetTurnId() == req.GetTurnId() {
				round++
			}
		}
		if round >= len(perRound) {
			return Say("done")(req, stream)
		}
		f := &inferencev1.Finished{FinishReason: "tool_calls"}
		for i := range perRound[round] {
			arguments := fmt.Sprintf(`{"round":%d,"call":%d}`, round, i)
			f.ToolCalls = append(f.ToolCalls, &turnv1.ToolCall{CallId: fmt.Sprintf("own-%d-%d", round, i), Tool: tool, ArgumentsJson: arguments})
			if err := stream.Send(&inferencev1.GenerateResponse{Event: &inferencev1.GenerateResponse_ToolCallDelta{
				ToolCallDelta: &inferencev1.ToolCallDelta{
					Index: int32(i), CallId: fmt.Sprintf("own-%d-%d", round, i), Tool: tool, ArgumentsDelta: arguments,
				},
			}}); err != nil {
				return err
			}
		}
		return End(stream, f)
	}
}

// Echo is a tool that returns its arguments.
func Echo(req *registryv1.CallToolRequest, stream grpc.ServerStreamingServer[registryv1.CallToolResponse]) error {
	for _, m := range []*registryv1.CallToolResponse{
		{Event: &registryv1.CallToolResponse_Decided{Decided: &registryv1.Decided{DecisionId: "dec_1", Allowed: true, Reason: "test"}}},
		{Event: &registryv1.CallToolResponse_Executing{Executing: &registryv1.Executing{ExecutionId: "exe_1"}}},
	} {
		if err := stream.Send(m); err != nil {
			return err
		}
	}
	return Complete(stream, &registryv1.Completed{ExecutionId: "exe_1", Result: &turnv1.ToolResult{
		Content: executiontest.Text(req.GetArgumentsJson()),
	}})
}

// Complete sends the result of a call.
func Complete(stream grpc.ServerStreamingServer[registryv1.CallToolResponse], c *registryv1.Completed) error {
	return stream.Send(&registryv1.CallToolResponse{Event: &registryv1.CallToolResponse_Completed{Completed: c}})
}
