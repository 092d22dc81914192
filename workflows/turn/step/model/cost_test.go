package model_test

import (
	"testing"

	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/workflows/turn/step/model"
)

func TestWhatACallCosts(t *testing.T) {
	price := &turnv1.Price{InputMicros: 2_500_000, OutputMicros: 10_000_000, CachedInputMicros: 1_250_000}
	tiered := &turnv1.Price{InputMicros: 1_000_000, OutputMicros: 2_000_000, CachedInputMicros: 1_000_000, Tiers: []*turnv1.PriceTier{
		{AboveTokens: 500, InputMicros: 9_000_000, OutputMicros: 9_000_000, CachedInputMicros: 1_000_000, CacheWriteMicros: 9_000_000},
		{AboveTokens: 200, InputMicros: 4_000_000, OutputMicros: 8_000_000, CachedInputMicros: 4_000_000, CacheWriteMicros: 4_000_000},
	}}
	for _, tt := range []struct {
		name  string
		price *turnv1.Price
		used  *turnv1.Usage
		want  int64
	}{
		{name: "read and written", price: price, used: &turnv1.Usage{InputTokens: 1000, OutputTokens: 100}, want: 3500},
		{name: "from the cache", price: price, used: &turnv1.Usage{InputTokens: 1000, CachedInputTokens: 400, OutputTokens: 100}, want: 3000},
		{name: "rounded up", price: price, used: &turnv1.Usage{InputTokens: 1}, want: 3},
		{name: "more cached than read", price: price, used: &turnv1.Usage{InputTokens: 10, CachedInputTokens: 40}, want: 13},
		{
			name: "into the cache", price: &turnv1.Price{InputMicros: 2_000_000, CachedInputMicros: 200_000, CacheWriteMicros: 2_500_000},
			used: &turnv1.Usage{InputTokens: 1000, CachedInputTokens: 400, CacheWriteInputTokens: 500}, want: 200 + 80 + 1250,
		},
		{
			name: "into the cache without a price for it", price: price,
			used: &turnv1.Usage{InputTokens: 1000, CacheWriteInputTokens: 1000}, want: 2500,
		},
		{
			name: "a tier", price: tiered, used: &turnv1.Usage{InputTokens: 201, OutputTokens: 100}, want: 201*4 + 100*8,
		},
		{name: "at the edge of a tier", price: tiered, used: &turnv1.Usage{InputTokens: 200, OutputTokens: 100}, want: 200 + 200},
		{name: "the highest tier", price: tiered, used: &turnv1.Usage{InputTokens: 1000, CachedInputTokens: 1000}, want: 1000},
		{name: "known", price: price, used: &turnv1.Usage{InputTokens: 1000, CostMicros: 7}, want: 7},
		{name: "no price", used: &turnv1.Usage{InputTokens: 1000}, want: 0},
		{name: "nothing used", price: price, want: 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			model.AddCost(tt.price, tt.used)
			if got := tt.used.GetCostMicros(); got != tt.want {
				t.Errorf("cost %d, want %d", got, tt.want)
			}
		})
	}
}
