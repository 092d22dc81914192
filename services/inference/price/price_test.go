package price_test

import (
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"github.com/windlass-dev/windlass/libs/config"
	"github.com/windlass-dev/windlass/libs/money"
	"github.com/windlass-dev/windlass/services/inference/price"
)

func at(day string) time.Time {
	t, err := time.Parse(time.DateOnly, day)
	if err != nil {
		panic(err) // of a test
	}
	return t
}

func TestTheNewestValidPriceApplies(t *testing.T) {
	list := price.List{
		{Model: "a/large", Input: 1},
		{Model: "a/*", From: "2026-03-01", Input: 2},
		{Model: "a/*", From: "2026-06-01", Input: 3},
		{Model: "a/*", From: "2026-01-01", Input: 4},
		{Model: "*", From: "2025-01-01", Input: 5},
	}
	for _, row := range []struct {
		model, day string
		want       int64 // -1 = none
	}{
		{"a/large", "2024-01-01", 1},
		{"a/x", "2026-03-01", 2},
		{"a/x", "2026-05-31", 2},
		{"a/x", "2026-12-01", 3},
		{"a/x", "2026-02-01", 4},
		{"a/x", "2025-12-31", 5},
		{"b/x", "2024-12-31", -1},
	} {
		got := int64(-1)
		if p := list.Of(row.model, at(row.day), "EUR"); p != nil {
			got = p.GetInputMicros()
		}
		if got != row.want {
			t.Errorf("%s on %s costs %d, want %d", row.model, row.day, got, row.want)
		}
	}
}

func TestWhatIsNotSetCostsAsInput(t *testing.T) {
	cached := money.Micros(1)
	p := price.List{{
		Model: "m", Input: 10, Output: 20, CachedInput: &cached, Tiers: []price.Tier{{Above: 100, Input: 30, Output: 40}},
	}}.Of("m", time.Now(), "USD")
	tier := p.GetTiers()[0]
	if p.GetCachedInputMicros() != 1 || p.GetCacheWriteMicros() != 10 || tier.GetAboveTokens() != 100 ||
		tier.GetCachedInputMicros() != 30 || tier.GetCacheWriteMicros() != 30 {
		t.Errorf("price %v", p)
	}
}

func TestWrongPrices(t *testing.T) {
	for name, c := range map[string]price.Config{
		"no model": {}, "a day": {Model: "*", From: "soon"}, "no edge": {Model: "*", Tiers: []price.Tier{{Input: 1}}},
		"too dear": {Model: "*", Tiers: []price.Tier{{Above: 1, Output: 100_001 * money.Unit}}},
		"tiers":    {Model: "*", Tiers: make([]price.Tier, 9)},
	} {
		if c.Check() == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

const file = `{
	"sample_spec": {"litellm_provider": "openai", "input_cost_per_token": 0.0},
	"gpt-x": {"litellm_provider": "openai", "input_cost_per_token": 2.5e-06, "output_cost_per_token": 1e-05,
		"cache_read_input_token_cost": 1.25e-06, "mode": "chat"},
	"gemini/gemini-x": {"litellm_provider": "gemini", "input_cost_per_token": 1.25e-06, "output_cost_per_token": 1e-05,
		"input_cost_per_token_above_200k_tokens": 2.5e-06, "output_cost_per_token_above_200k_tokens": 1.5e-05},
	"anthropic.claude-x": {"litellm_provider": "bedrock_converse", "input_cost_per_token": 3e-06, "output_cost_per_token": 1.5e-05,
		"cache_creation_input_token_cost": 3.75e-06, "cache_read_input_token_cost": 3e-07},
	"tiny": {"litellm_provider": "openai", "input_cost_per_token": 1.0000001e-12, "output_cost_per_token": 0},
	"dall-e": {"litellm_provider": "openai", "input_cost_per_image": 0.04}
}`

func TestLiteLLMsPrices(t *testing.T) {
	list, err := price.FromLiteLLM([]byte(file), nil)
	if err != nil {
		t.Fatal(err)
	}
	want := `prices:
- {model: "bedrock/anthropic.claude-x", input: 3, output: 15, cached_input: 0.3, cache_write: 3.75}
- {model: "gemini/gemini-x", input: 1.25, output: 10, tiers: [{above: 200000, input: 2.5, output: 15}]}
- {model: "openai/gpt-x", input: 2.5, output: 10, cached_input: 1.25}
- {model: "openai/tiny", input: 0.000002, output: 0}
`
	if got := string(list.YAML()); got != want {
		t.Errorf("got\n%s", got)
	}
	name := filepath.Join(t.TempDir(), "prices.yaml")
	if err := os.WriteFile(name, list.YAML(), 0o600); err != nil {
		t.Fatal(err)
	}
	var read struct {
		Prices price.List `yaml:"prices"`
	}
	if err := config.Load(config.Options{File: name, Environ: []string{}, Into: &read}); err != nil || !reflect.DeepEqual(read.Prices, list) {
		t.Errorf("read %v, %v", read.Prices, err)
	}
	only, err := price.FromLiteLLM([]byte(file), map[string]string{"gemini": "house"})
	if err != nil || len(only) != 1 || only[0].Model != "house/gemini-x" {
		t.Errorf("only %v, %v", only, err)
	}
	if _, err := price.FromLiteLLM([]byte("[]"), nil); err == nil {
		t.Error("a list is accepted")
	}
}
