package inference_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/windlass-dev/windlass/libs/config"
	"github.com/windlass-dev/windlass/libs/testwant"
	"github.com/windlass-dev/windlass/services/inference"
	"github.com/windlass-dev/windlass/services/inference/inferencetest"
)

func TestConfigLoads(t *testing.T) {
	file := filepath.Join(t.TempDir(), "w.yaml")
	err := os.WriteFile(file, []byte(`
default_model: router/some/model
first_token_timeout: 10s
max_response: 1MiB
providers:
- {name: router, kind: openai, base_url: "https://router.example/v1", api_key: "${env:ROUTER_KEY}", models: [some/model], headers: {X-Title: Windlass}}
`), 0o600)
	if err != nil {
		t.Fatal(err)
	}
	var got inference.Config
	err = config.Load(config.Options{
		Defaults: config.Default[inference.Config](), File: file, Environ: []string{"ROUTER_KEY=" + inferencetest.Key}, Into: &got,
	})
	if err != nil {
		t.Fatal(err)
	}
	p := got.Providers[0]
	testwant.Equal(t, "got.FirstTokenTimeout", got.FirstTokenTimeout, 10*time.Second)
	testwant.Equal(t, "got.IdleTimeout", got.IdleTimeout, 20*time.Second)
	testwant.Equal(t, "got.Detect", got.Detect, true)
	testwant.Equal(t, "got.MaxResponse", got.MaxResponse, 1<<20)
	testwant.Equal(t, "p.APIKey.Reveal", p.APIKey.Reveal(), inferencetest.Key)
	testwant.Equal(t, `p.Headers["X-Title"].Reveal`, p.Headers["X-Title"].Reveal(), "Windlass")
	testwant.Equal(t, "p.Models[0]", p.Models[0], "some/model")
	client := inferencetest.Serve(t, got, map[string]string{"OLLAMA_HOST": "127.0.0.1:9"})
	if client == nil {
		t.Error("no client")
	}
}
