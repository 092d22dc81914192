package catalog_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"

	"github.com/windlass-dev/windlass/libs/config"
	"github.com/windlass-dev/windlass/libs/fault"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	inferencev1 "github.com/windlass-dev/windlass/proto/gen/windlass/inference/v1"
	"github.com/windlass-dev/windlass/services/inference"
	"github.com/windlass-dev/windlass/services/inference/catalog"
	"github.com/windlass-dev/windlass/services/inference/inferencetest"
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

// serve serves HTTP until the test ends.
func serve(t *testing.T, answer http.HandlerFunc) *httptest.Server {
	t.Helper()
	srv := httptest.NewServer(answer)
	t.Cleanup(srv.Close)
	return srv
}

func TestTheDefaultIsTheFirstThatIsThere(t *testing.T) {
	local := serve(t, tags(`{"name":"llama4:8b"},{"name":"qwen4:4b"}`))
	empty := serve(t, tags(``))
	away := serve(t, http.NotFound)
	away.Close()
	mine := catalog.ProviderConfig{Name: "mine", Kind: "openai", BaseURL: "http://127.0.0.1:9/v1", Models: []string{"m1", "m2"}}
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
			name: "configured provider", cfg: func(c *inference.Config) { c.Providers = []catalog.ProviderConfig{mine} }, env: keys,
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
				c.Providers = []catalog.ProviderConfig{p}
			},
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			cfg := config.Default[inference.Config]()
			if row.cfg != nil {
				row.cfg(&cfg)
			}
			client := inferencetest.Serve(t, cfg, row.env)
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
	cfg := inferencetest.Config()
	cfg.Providers = []catalog.ProviderConfig{{Name: "test", Kind: "openai", BaseURL: "http://127.0.0.1:9", Models: []string{"model-1"}}}
	client := inferencetest.Serve(t, cfg, nil)
	for _, name := range []string{"nobody/x", "gpt-x", "test", "test/", "builtin/other", "/x"} {
		_, err := client.ResolveModel(t.Context(), &inferencev1.ResolveModelRequest{Model: name})
		if f := fault.From(err); f == nil || f.Code != codes.NotFound || f.Reason != faultv1.Reason_REASON_MODEL_UNKNOWN ||
			!strings.Contains(f.Text(), "test, builtin") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestListModels(t *testing.T) {
	asked := 0
	local := serve(t, func(w http.ResponseWriter, r *http.Request) {
		asked++
		tags(``)(w, r)
	})
	broken := serve(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) })
	cfg := inferencetest.Config()
	cfg.Providers = []catalog.ProviderConfig{
		{Name: "some", Kind: "openai", BaseURL: "http://127.0.0.1:9", Models: []string{"z", "a", "m"}},
		{Name: "local", Kind: "openai", BaseURL: local.URL + "/v1"},
		{Name: "broken", Kind: "anthropic", BaseURL: broken.URL},
	}
	client := inferencetest.Serve(t, cfg, nil)
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
	if asked != 1 {
		t.Errorf("the provider was asked %d times", asked)
	}
	_, err := client.ListModels(t.Context(), &inferencev1.ListModelsRequest{PageToken: "nonsense"})
	if !fault.Is(err, faultv1.Reason_REASON_INVALID_PAGE_TOKEN) {
		t.Error(err)
	}
}
