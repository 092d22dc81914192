package model_test

import (
	"testing"

	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/workflows/turn/step/model"
)

func TestWhatACallCosts(t *testing.T) {
	price := &turnv1.Price{InputMicros: 2_500_000, OutputMicros: 10_000_000, CachedInputMicros: 1_250_000}
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
