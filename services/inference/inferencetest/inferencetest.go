// Package inferencetest serves the inference service to the tests of its packages, which call it as its clients do.
package inferencetest

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc"

	"github.com/windlass-dev/windlass/libs/config"
	"github.com/windlass-dev/windlass/libs/egress"
	"github.com/windlass-dev/windlass/libs/providerdata"
	"github.com/windlass-dev/windlass/libs/rpc/rpctest"
	"github.com/windlass-dev/windlass/libs/secret"
	inferencev1 "github.com/windlass-dev/windlass/proto/gen/windlass/inference/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/inference"
	"github.com/windlass-dev/windlass/services/inference/catalog"
)

// Key is an API key that must never appear in an error.
const Key = "sk-test-0123456789abcdef"

// Serve serves the service until the test ends; env is its whole environment. Nothing is detected unless cfg says so.
func Serve(
	t *testing.T, cfg inference.Config, env map[string]string, change ...func(*inference.Deps),
) inferencev1.InferenceServiceClient {
	t.Helper()
	return inferencev1.NewInferenceServiceClient(ServeAs(t, cfg, env, nil, change...))
}

// ServeAs is Serve with options of the server, such as another caller; it returns the connection.
func ServeAs(
	t *testing.T, cfg inference.Config, env map[string]string, as []rpctest.Option, change ...func(*inference.Deps),
) grpc.ClientConnInterface {
	t.Helper()
	way, err := egress.New(egress.Config{Profile: egress.Local})
	if err != nil {
		t.Fatal(err)
	}
	deps := inference.Deps{Deps: catalog.Deps{
		Egress: way, ProviderData: Sealer(t), Log: slog.New(slog.DiscardHandler), Getenv: func(name string) string { return env[name] },
	}}
	for _, f := range change {
		f(&deps)
	}
	svc, err := inference.New(t.Context(), cfg, deps)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(way.CloseIdle)
	run(t, svc)
	return rpctest.ServeAs(t, "inference", func(r grpc.ServiceRegistrar) { svc.Register(r) }, as...)
}

// run runs the service until the test ends.
func run(t *testing.T, svc *inference.Service) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error)
	go func() { done <- svc.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("run: %v", err)
		}
	})
}

// Catalog returns the catalog of a configuration, without an environment.
func Catalog(t *testing.T, cfg catalog.Config) *catalog.Catalog {
	t.Helper()
	way, err := egress.New(egress.Config{Profile: egress.Local})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(way.CloseIdle)
	c, err := catalog.New(t.Context(), cfg, 1<<20, catalog.Deps{
		Egress: way, Log: slog.New(slog.DiscardHandler), Getenv: func(string) string { return "" },
	})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// Sealer seals and opens the provider data of requests.
func Sealer(t testing.TB) *providerdata.Sealer {
	t.Helper()
	s, err := providerdata.NewSealer(secret.New(strings.Repeat("k", 32)))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// Config returns the default configuration without detection.
func Config() inference.Config {
	cfg := config.Default[inference.Config]()
	cfg.Detect = false
	return cfg
}

// Answer is all that was received of one call.
type Answer struct {
	// Texts, Thoughts and Calls are the deltas.
	Texts, Thoughts []string
	Calls           []*inferencev1.ToolCallDelta
	// Attempts are those that failed, and those that started after another one had failed.
	Attempts []*turnv1.ModelAttempt
	// Finished is the end.
	Finished *inferencev1.Finished
}

// Ask makes one call and checks that the deltas add up to the end. The error is that of the call.
func Ask(ctx context.Context, t *testing.T, client inferencev1.InferenceServiceClient, req *inferencev1.GenerateRequest) (Answer, error) {
	t.Helper()
	stream, err := client.Generate(ctx, req)
	if err != nil {
		t.Fatal(err)
	}
	var got Answer
	for {
		m, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return got, err
		}
		if got.Finished != nil {
			t.Errorf("after the end came %v", m)
		}
		switch e := m.GetEvent().(type) {
		case *inferencev1.GenerateResponse_TextDelta:
			got.Texts = append(got.Texts, e.TextDelta)
		case *inferencev1.GenerateResponse_ReasoningDelta:
			got.Thoughts = append(got.Thoughts, e.ReasoningDelta)
		case *inferencev1.GenerateResponse_ToolCallDelta:
			got.Calls = append(got.Calls, e.ToolCallDelta)
		case *inferencev1.GenerateResponse_Attempt:
			got.Attempts = append(got.Attempts, e.Attempt)
		case *inferencev1.GenerateResponse_Finished:
			got.Finished = e.Finished
		}
	}
	if got.Finished == nil {
		t.Fatal("a good stream without an end")
	}
	got.check(t)
	return got, nil
}

func (g Answer) check(t *testing.T) {
	t.Helper()
	if text := strings.Join(g.Texts, ""); text != g.Finished.GetText() {
		t.Errorf("deltas say %q, the end %q", text, g.Finished.GetText())
	}
	if text := strings.Join(g.Thoughts, ""); text != g.Finished.GetReasoning() {
		t.Errorf("deltas think %q, the end %q", text, g.Finished.GetReasoning())
	}
	var calls []*turnv1.ToolCall
	for _, d := range g.Calls {
		if int(d.GetIndex()) == len(calls) {
			calls = append(calls, &turnv1.ToolCall{CallId: d.GetCallId(), Tool: d.GetTool()})
		}
		calls[d.GetIndex()].ArgumentsJson += d.GetArgumentsDelta()
	}
	if !slices.EqualFunc(calls, g.Finished.GetToolCalls(), func(a, b *turnv1.ToolCall) bool {
		return a.GetCallId() == b.GetCallId() && a.GetTool() == b.GetTool() &&
			(a.GetArgumentsJson() == b.GetArgumentsJson() || a.GetArgumentsJson() == "" && b.GetArgumentsJson() == "{}")
	}) {
		t.Errorf("deltas call %v, the end %v", calls, g.Finished.GetToolCalls())
	}
	if u := g.Finished.GetUsage(); u.GetModelCalls() != 1 || u.GetInputTokens() <= 0 {
		t.Errorf("usage %v", u)
	}
}

// User returns a message of the user.
func User(text string) *turnv1.Message {
	return &turnv1.Message{Role: turnv1.Role_ROLE_USER, Content: []*turnv1.ContentPart{Text(text)}}
}

// Text returns a part of a message.
func Text(text string) *turnv1.ContentPart {
	return &turnv1.ContentPart{Part: &turnv1.ContentPart_Text{Text: text}}
}

// Called returns an assistant's message and the results of its calls, each with the given text.
func Called(results string, calls ...*turnv1.ToolCall) []*turnv1.Message {
	out := []*turnv1.Message{{Role: turnv1.Role_ROLE_ASSISTANT, ToolCalls: calls}}
	for _, c := range calls {
		out = append(out, &turnv1.Message{Role: turnv1.Role_ROLE_TOOL, ToolResult: &turnv1.ToolResult{
			CallId: c.GetCallId(), Tool: c.GetTool(), Content: []*turnv1.ContentPart{Text(results)},
		}})
	}
	return out
}
