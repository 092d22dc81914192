package inference_test

import (
	"log/slog"
	"testing"

	"github.com/windlass-dev/windlass/libs/egress"
	"github.com/windlass-dev/windlass/libs/money"
	inferencev1 "github.com/windlass-dev/windlass/proto/gen/windlass/inference/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/inference"
)

func TestModelsTellTheirPrice(t *testing.T) {
	cached := money.Micros(0)
	cfg := quiet()
	cfg.Providers = []inference.ProviderConfig{{
		Name: "mine", Kind: "openai", BaseURL: "http://127.0.0.1:9/v1",
		Models: []string{"small", "large", "other"},
	}}
	cfg.Prices = []inference.PriceConfig{
		{Model: "mine/large", Input: 2_500_000, Output: 10_000_000},
		{Model: "mine/[sl]*", Input: 9, Output: 9}, // no character classes: it fits nothing
		{Model: "mine/*", Input: 500_000, Output: 1_000_000, CachedInput: &cached},
	}
	client := serve(t, cfg, nil)
	for name, want := range map[string][3]int64{
		"mine/large": {2_500_000, 10_000_000, 2_500_000}, "mine/small": {500_000, 1_000_000, 0}, "builtin/scripted": {},
	} {
		m, err := client.ResolveModel(t.Context(), &inferencev1.ResolveModelRequest{Model: name})
		if err != nil {
			t.Fatal(err)
		}
		p := m.GetPrice()
		if got := [3]int64{p.GetInputMicros(), p.GetOutputMicros(), p.GetCachedInputMicros()}; got != want {
			t.Errorf("%s costs %v, want %v", name, got, want)
		}
		if p != nil && p.GetCurrency() != "USD" {
			t.Errorf("%s: currency %q", name, p.GetCurrency())
		}
	}
}

func TestWrongPrices(t *testing.T) {
	way, err := egress.New(egress.Config{Profile: egress.Local})
	if err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*inference.Config){
		"no model": func(c *inference.Config) { c.Prices = []inference.PriceConfig{{Input: 1}} },
		"too dear": func(c *inference.Config) {
			c.Prices = []inference.PriceConfig{{Model: "*", Output: 100_001 * money.Unit}}
		},
		"currency": func(c *inference.Config) { c.Currency = "dollars" },
	} {
		cfg := quiet()
		change(&cfg)
		_, err := inference.New(t.Context(), cfg, inference.Deps{
			Egress: way, Log: slog.New(slog.DiscardHandler),
			Getenv: func(string) string { return "" },
		})
		if err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

func TestScriptedKeepsToItsLimit(t *testing.T) {
	client := serve(t, quiet(), nil)
	for _, tt := range []struct {
		tokens         int32
		finish, answer string
	}{
		{tokens: 0, finish: "stop", answer: "w1 w2 w3 w4 w5"},
		{tokens: 10, finish: "stop", answer: "w1 w2 w3 w4 w5"},
		{tokens: 4, finish: "length", answer: "w1 w2 "},
	} {
		got, err := ask(t.Context(), t, client, &inferencev1.GenerateRequest{
			Messages:        []*turnv1.Message{user("tokens:5")},
			MaxOutputTokens: tt.tokens,
		})
		if err != nil {
			t.Fatal(err)
		}
		if f := got.finished; f.GetFinishReason() != tt.finish || f.GetText() != tt.answer ||
			tt.tokens > 0 && f.GetUsage().GetOutputTokens() > tt.tokens {
			t.Errorf("at most %d tokens: %v", tt.tokens, f)
		}
	}
}
