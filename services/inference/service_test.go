package inference_test

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/windlass-dev/windlass/libs/egress"
	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/secret"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	inferencev1 "github.com/windlass-dev/windlass/proto/gen/windlass/inference/v1"
	"github.com/windlass-dev/windlass/services/inference"
)

// tags is an Ollama with models, which also lists them over the other API.
func tags(models string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/api/tags":
			_, _ = io.WriteString(w, `{"models":[`+models+`]}`)
		case "/v1/models":
			_, _ = io.WriteString(w, `{"object":"list","data":[{"id":"llama4:8b"},{"id":"qwen4:4b"}]}`)
		default:
			http.NotFound(w, r)
		}
	}
}

func TestTheDefaultIsTheFirstThatIsThere(t *testing.T) {
	local := newFake(t, tags(`{"name":"llama4:8b"},{"name":"qwen4:4b"}`))
	empty := newFake(t, tags(``))
	away := newFake(t, nil)
	away.Close()
	mine := inference.ProviderConfig{Name: "mine", Kind: "openai", BaseURL: "http://127.0.0.1:9/v1", Models: []string{"m1", "m2"}}
	keys := map[string]string{"OPENAI_API_KEY": "a", "ANTHROPIC_API_KEY": "b", "OLLAMA_HOST": local.URL}
	with := func(more ...string) map[string]string {
		env := map[string]string{"OLLAMA_HOST": away.URL}
		for i := 0; i < len(more); i += 2 {
			env[more[i]] = more[i+1]
		}
		return env
	}
	for _, row := range []struct {
		name    string
		cfg     func(*inference.Config)
		env     map[string]string
		want    string
		resolve string // a model that must be there too
	}{
		{name: "nothing", env: with(), want: "builtin/scripted"},
		{
			name: "configured default", cfg: func(c *inference.Config) { c.DefaultModel = "anthropic/claude-x" }, env: keys,
			want: "anthropic/claude-x", resolve: "openai/gpt-x",
		},
		{
			name: "configured provider", cfg: func(c *inference.Config) { c.Providers = []inference.ProviderConfig{mine} }, env: keys,
			want: "mine/m1", resolve: "mine/any/other",
		},
		{name: "OpenAI's key", env: keys, want: "openai/gpt-5.4-mini", resolve: "ollama/llama4:8b"},
		{
			name: "OpenAI's key and model", env: with("OPENAI_API_KEY", "k", "OPENAI_MODEL", "gpt-x"), want: "openai/gpt-x",
			resolve: "builtin/scripted",
		},
		{name: "Anthropic's key", env: with("ANTHROPIC_API_KEY", "k", "OLLAMA_HOST", local.URL), want: "anthropic/claude-sonnet-5-5"},
		{name: "Anthropic's key and model", env: with("ANTHROPIC_API_KEY", "k", "ANTHROPIC_MODEL", "claude-x"), want: "anthropic/claude-x"},
		{name: "Ollama", env: with("OLLAMA_HOST", strings.TrimPrefix(local.URL, "http://")), want: "ollama/llama4:8b"},
		{name: "Ollama without models", env: with("OLLAMA_HOST", empty.URL), want: "builtin/scripted"},
		{
			name: "Ollama that is away but wanted", cfg: func(c *inference.Config) { c.DefaultModel = "ollama/llama4" }, env: with(),
			want: "ollama/llama4",
		},
		{name: "no detection", cfg: func(c *inference.Config) { c.Detect = false }, env: keys, want: "builtin/scripted"},
		{
			name: "a configured provider named like a found one", want: "openai/m1", env: keys,
			cfg: func(c *inference.Config) {
				p := mine
				p.Name = "openai"
				c.Providers = []inference.ProviderConfig{p}
			},
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			cfg := inference.DefaultConfig()
			if row.cfg != nil {
				row.cfg(&cfg)
			}
			client := serve(t, cfg, row.env)
			m, err := client.ResolveModel(t.Context(), &inferencev1.ResolveModelRequest{})
			if err != nil {
				t.Fatal(err)
			}
			if m.GetName() != row.want || !m.GetDefault() || !m.GetSupportsTools() || !strings.HasPrefix(row.want, m.GetProvider()+"/") {
				t.Errorf("default %v, want %s", m, row.want)
			}
			if row.resolve != "" {
				if m, err = client.ResolveModel(t.Context(), &inferencev1.ResolveModelRequest{Model: row.resolve}); err != nil ||
					m.GetName() != row.resolve || m.GetDefault() {
					t.Errorf("%s: %v, %v", row.resolve, m, err)
				}
			}
		})
	}
}

func TestUnknownModels(t *testing.T) {
	client := provide(t, "openai", "http://127.0.0.1:9")
	for _, name := range []string{"nobody/x", "gpt-x", "test", "test/", "builtin/other", "/x"} {
		_, err := client.ResolveModel(t.Context(), &inferencev1.ResolveModelRequest{Model: name})
		if f := fault.From(err); f == nil || f.Code != codes.NotFound || f.Reason != faultv1.Reason_REASON_MODEL_UNKNOWN ||
			!strings.Contains(f.Text(), "test, builtin") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestWrongConfiguration(t *testing.T) {
	way, err := egress.New(egress.Config{Profile: egress.Local})
	if err != nil {
		t.Fatal(err)
	}
	deps := inference.Deps{Egress: way, Log: slog.New(slog.DiscardHandler), Getenv: func(string) string { return "" }}
	one := func(p inference.ProviderConfig) func(*inference.Config) {
		return func(c *inference.Config) { c.Providers = append(c.Providers, p) }
	}
	for _, row := range []struct {
		change func(*inference.Config)
		says   string
	}{
		{func(c *inference.Config) { c.IdleTimeout = 0 }, "must be positive"},
		{func(c *inference.Config) { c.DefaultModel = "openai/gpt-x" }, "Set OPENAI_API_KEY"},
		{func(c *inference.Config) { c.DefaultModel = "anthropic/x" }, "Set ANTHROPIC_API_KEY"},
		{func(c *inference.Config) { c.DefaultModel = "x" }, "inference.providers"},
		{one(inference.ProviderConfig{Name: "A b", Kind: "openai"}), "providers[0]: name"},
		{one(inference.ProviderConfig{Name: "builtin", Kind: "openai"}), "is taken"},
		{one(inference.ProviderConfig{Name: "a", Kind: "gemini"}), "openai, anthropic or scripted"},
		{one(inference.ProviderConfig{Name: "a", Kind: "openai", BaseURL: "localhost:1"}), "base_url"},
		{
			one(inference.ProviderConfig{Name: "a", Kind: "openai", BaseURL: "http://localhost:1", APIKey: secret.New(testKey)}),
			"name at least one model",
		},
	} {
		cfg := quiet()
		row.change(&cfg)
		if _, err := inference.New(t.Context(), cfg, deps); err == nil || !strings.Contains(err.Error(), row.says) ||
			strings.Contains(err.Error(), testKey) {
			t.Errorf("want %q: %v", row.says, err)
		}
	}
	if _, err := inference.New(t.Context(), quiet(), inference.Deps{}); err == nil {
		t.Error("no error without dependencies")
	}
}

func TestListModels(t *testing.T) {
	local := newFake(t, tags(``))
	broken := newFake(t, refuse(500, ``))
	cfg := quiet()
	cfg.Providers = []inference.ProviderConfig{
		{Name: "some", Kind: "openai", BaseURL: "http://127.0.0.1:9", Models: []string{"z", "a", "m"}},
		{Name: "local", Kind: "openai", BaseURL: local.URL + "/v1"},
		{Name: "broken", Kind: "anthropic", BaseURL: broken.URL},
	}
	client := serve(t, cfg, nil)
	want := []string{"some/z", "builtin/scripted", "local/llama4:8b", "local/qwen4:4b", "some/a", "some/m"}
	for _, size := range []int32{0, 1, 2, 4, 6, 1000} {
		var got []string
		token := ""
		for range 10 {
			resp, err := client.ListModels(t.Context(), &inferencev1.ListModelsRequest{PageSize: size, PageToken: token})
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range resp.GetModels() {
				got = append(got, m.GetName())
				if m.GetDefault() != (m.GetName() == "some/z") {
					t.Errorf("default %v", m)
				}
			}
			if token = resp.GetNextPageToken(); token == "" {
				break
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("size %d: %q", size, got)
		}
	}
	if n := len(local.seen()); n != 1 {
		t.Errorf("the provider was asked %d times", n)
	}
	_, err := client.ListModels(t.Context(), &inferencev1.ListModelsRequest{PageToken: "nonsense"})
	if !fault.Is(err, faultv1.Reason_REASON_INVALID_PAGE_TOKEN) {
		t.Error(err)
	}
}

func TestCancelHangsUp(t *testing.T) {
	left := make(chan struct{})
	f := newFake(t, func(w http.ResponseWriter, r *http.Request) {
		stream(data(says("Hi")), hold)(w, r)
		close(left)
	})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	s, err := provide(t, "openai", f.URL).Generate(ctx, hello())
	if err != nil {
		t.Fatal(err)
	}
	if m, err := s.Recv(); err != nil || m.GetTextDelta() != "Hi" {
		t.Fatal(m, err)
	}
	cancel()
	if _, err := s.Recv(); fault.From(err).Code != codes.Canceled {
		t.Error(err)
	}
	<-left
}
