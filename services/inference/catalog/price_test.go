package catalog_test

import (
	"testing"

	"github.com/windlass-dev/windlass/libs/money"
	inferencev1 "github.com/windlass-dev/windlass/proto/gen/windlass/inference/v1"
	"github.com/windlass-dev/windlass/services/inference/catalog"
	"github.com/windlass-dev/windlass/services/inference/inferencetest"
)

func TestModelsTellTheirPrice(t *testing.T) {
	cached := money.Micros(0)
	cfg := inferencetest.Config()
	cfg.Providers = []catalog.ProviderConfig{{
		Name: "mine", Kind: "openai", BaseURL: "http://127.0.0.1:9/v1",
		Models: []string{"small", "large", "other"},
	}}
	cfg.Prices = []catalog.PriceConfig{
		{Model: "mine/large", Input: 2_500_000, Output: 10_000_000},
		{Model: "mine/[sl]*", Input: 9, Output: 9}, // no character classes: it fits nothing
		{Model: "mine/*", Input: 500_000, Output: 1_000_000, CachedInput: &cached},
	}
	client := inferencetest.Serve(t, cfg, nil)
	for name, want := range map[string][3]int64{
		"mine/large": {2_500_000, 10_000_000, 2_500_000}, "mine/small": {500_000, 1_000_000, 0}, "builtin/scripted": {},
	} {
		m, err := client.ResolveModel(t.Context(), &inferencev1.ResolveModelRequest{Model: name})
		if err != nil {
			t.Fatal(err)
		}
		p := m.GetPrice()
		if p == nil {
			t.Errorf("%s has no price", name)
		}
		if got := [3]int64{p.GetInputMicros(), p.GetOutputMicros(), p.GetCachedInputMicros()}; got != want {
			t.Errorf("%s costs %v, want %v", name, got, want)
		}
		if p != nil && p.GetCurrency() != "USD" {
			t.Errorf("%s: currency %q", name, p.GetCurrency())
		}
	}
}

func TestWrongPrices(t *testing.T) {
	for name, cfg := range map[string]catalog.Config{
		"no model": {Prices: []catalog.PriceConfig{{Input: 1}}},
		"too dear": {Prices: []catalog.PriceConfig{{Model: "*", Output: 100_001 * money.Unit}}},
		"currency": {Currency: "dollars"},
	} {
		if err := cfg.Check(); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}
