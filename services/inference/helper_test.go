package inference_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"slices"
	"testing"

	"google.golang.org/grpc"

	"github.com/windlass-dev/windlass/libs/egress"
	"github.com/windlass-dev/windlass/libs/rpc/rpctest"
	"github.com/windlass-dev/windlass/libs/testmain"
	inferencev1 "github.com/windlass-dev/windlass/proto/gen/windlass/inference/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/inference"
)

func TestMain(m *testing.M) { testmain.Verify(m) }

// serve serves the service until the test ends; env is its whole environment. Nothing is detected unless cfg says so.
func serve(t *testing.T, cfg inference.Config, env map[string]string) inferencev1.InferenceServiceClient {
	t.Helper()
	way, err := egress.New(egress.Config{Profile: egress.Local})
	if err != nil {
		t.Fatal(err)
	}
	svc, err := inference.New(t.Context(), cfg, inference.Deps{
		Egress: way, ProviderData: testSealer(t), Log: slog.New(slog.DiscardHandler), Getenv: func(name string) string { return env[name] },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(way.CloseIdle)
	conn := rpctest.Serve(t, "inference", func(r grpc.ServiceRegistrar) { svc.Register(r) })
	return inferencev1.NewInferenceServiceClient(conn)
}

// quiet is the default configuration without detection.
func quiet() inference.Config {
	cfg := inference.DefaultConfig()
	cfg.Detect = false
	return cfg
}

// told is all that came of one call.
type told struct {
	texts, thoughts []string
	calls           []*inferencev1.ToolCallDelta
	finished        *inferencev1.Finished
}

// ask makes one call and checks that what the deltas say is what the end says.
func ask(ctx context.Context, t *testing.T, client inferencev1.InferenceServiceClient, req *inferencev1.GenerateRequest) (told, error) {
	t.Helper()
	stream, err := client.Generate(ctx, req)
	if err != nil {
		t.Fatal(err)
	}
	var got told
	for {
		m, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return got, err
		}
		if got.finished != nil {
			t.Errorf("after the end came %v", m)
		}
		switch e := m.GetEvent().(type) {
		case *inferencev1.GenerateResponse_TextDelta:
			got.texts = append(got.texts, e.TextDelta)
		case *inferencev1.GenerateResponse_ReasoningDelta:
			got.thoughts = append(got.thoughts, e.ReasoningDelta)
		case *inferencev1.GenerateResponse_ToolCallDelta:
			got.calls = append(got.calls, e.ToolCallDelta)
		case *inferencev1.GenerateResponse_Finished:
			got.finished = e.Finished
		}
	}
	if got.finished == nil {
		t.Fatal("a good stream without an end")
	}
	got.check(t)
	return got, nil
}

func (g told) check(t *testing.T) {
	t.Helper()
	if text := join(g.texts); text != g.finished.GetText() {
		t.Errorf("deltas say %q, the end %q", text, g.finished.GetText())
	}
	if text := join(g.thoughts); text != g.finished.GetReasoning() {
		t.Errorf("deltas think %q, the end %q", text, g.finished.GetReasoning())
	}
	var calls []*turnv1.ToolCall
	for _, d := range g.calls {
		if int(d.GetIndex()) == len(calls) {
			calls = append(calls, &turnv1.ToolCall{CallId: d.GetCallId(), Tool: d.GetTool()})
		}
		calls[d.GetIndex()].ArgumentsJson += d.GetArgumentsDelta()
	}
	if !slices.EqualFunc(calls, g.finished.GetToolCalls(), func(a, b *turnv1.ToolCall) bool {
		return a.GetCallId() == b.GetCallId() && a.GetTool() == b.GetTool() &&
			(a.GetArgumentsJson() == b.GetArgumentsJson() || a.GetArgumentsJson() == "" && b.GetArgumentsJson() == "{}")
	}) {
		t.Errorf("deltas call %v, the end %v", calls, g.finished.GetToolCalls())
	}
	if u := g.finished.GetUsage(); u.GetModelCalls() != 1 || u.GetInputTokens() <= 0 {
		t.Errorf("usage %v", u)
	}
}

func join(parts []string) (all string) {
	for _, p := range parts {
		all += p
	}
	return all
}

func user(text string) *turnv1.Message {
	return &turnv1.Message{Role: turnv1.Role_ROLE_USER, Content: []*turnv1.ContentPart{textPart(text)}}
}

func textPart(text string) *turnv1.ContentPart {
	return &turnv1.ContentPart{Part: &turnv1.ContentPart_Text{Text: text}}
}

// called is an assistant's message and the results of its calls, each with the given text.
func called(results string, calls ...*turnv1.ToolCall) []*turnv1.Message {
	out := []*turnv1.Message{{Role: turnv1.Role_ROLE_ASSISTANT, ToolCalls: calls}}
	for _, c := range calls {
		out = append(out, &turnv1.Message{Role: turnv1.Role_ROLE_TOOL, ToolResult: &turnv1.ToolResult{
			CallId: c.GetCallId(), Tool: c.GetTool(), Content: []*turnv1.ContentPart{textPart(results)},
		}})
	}
	return out
}
