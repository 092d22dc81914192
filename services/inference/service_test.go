package inference_test

import (
	"log/slog"
	"strings"
	"testing"

	"github.com/windlass-dev/windlass/libs/egress"
	"github.com/windlass-dev/windlass/libs/secret"
	"github.com/windlass-dev/windlass/libs/testmain"
	"github.com/windlass-dev/windlass/services/inference"
	"github.com/windlass-dev/windlass/services/inference/catalog"
	"github.com/windlass-dev/windlass/services/inference/inferencetest"
)

func TestMain(m *testing.M) { testmain.Verify(m) }

func TestWrongConfiguration(t *testing.T) {
	way, err := egress.New(egress.Config{Profile: egress.Local})
	if err != nil {
		t.Fatal(err)
	}
	deps := inference.Deps{Deps: catalog.Deps{Egress: way, Log: slog.New(slog.DiscardHandler), Getenv: func(string) string { return "" }}}
	one := func(p catalog.ProviderConfig) func(*inference.Config) {
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
		{one(catalog.ProviderConfig{Name: "A b", Kind: "openai"}), "providers[0]: name"},
		{one(catalog.ProviderConfig{Name: "builtin", Kind: "openai"}), "is taken"},
		{one(catalog.ProviderConfig{Name: "a", Kind: "cohere"}), "openai, openai-responses, anthropic, gemini, bedrock, ollama or scripted"},
		{one(catalog.ProviderConfig{Name: "a", Kind: "openai", BaseURL: "localhost:1"}), "base_url"},
		{one(catalog.ProviderConfig{Name: "a", Kind: "bedrock"}), "region is required"},
		{one(catalog.ProviderConfig{Name: "a", Kind: "bedrock", Region: "eu.evil.example/"}), "lower-case letters"},
		{one(catalog.ProviderConfig{Name: "a", Kind: "openai", Region: "eu-central-1"}), "not for the kind openai"},
		{func(c *inference.Config) {
			c.Keys = []catalog.KeyConfig{{Provider: "a", Alias: "k", APIKey: secret.New("x")}}
		}, "no provider"},
		{
			func(c *inference.Config) {
				c.Providers = []catalog.ProviderConfig{{Name: "a", Kind: "openai", APIKey: secret.New(inferencetest.Key)}}
				c.Keys = []catalog.KeyConfig{{Provider: "a", Alias: "k", APIKey: secret.New("x")}}
			}, "has a key of its own",
		},
		{
			func(c *inference.Config) {
				c.Providers = []catalog.ProviderConfig{{Name: "a", Kind: "openai"}}
				c.Keys = []catalog.KeyConfig{
					{Provider: "a", Alias: "k", APIKey: secret.New("x")},
					{Provider: "a", Alias: "k", APIKey: secret.New("y")},
					{Provider: "a", Alias: "K", APIKey: secret.New("x")},
					{Provider: "a", Alias: "none"},
				}
			}, `keys[1]: provider "a" has two keys "k"`,
		},
		{
			one(catalog.ProviderConfig{Name: "a", Kind: "openai", BaseURL: "http://localhost:1", APIKey: secret.New(inferencetest.Key)}),
			"name at least one model",
		},
	} {
		cfg := inferencetest.Config()
		row.change(&cfg)
		if _, err := inference.New(t.Context(), cfg, deps); err == nil || !strings.Contains(err.Error(), row.says) ||
			strings.Contains(err.Error(), inferencetest.Key) {
			t.Errorf("want %q: %v", row.says, err)
		}
	}
	if _, err := inference.New(t.Context(), inferencetest.Config(), inference.Deps{}); err == nil {
		t.Error("no error without dependencies")
	}
}
