package step

import (
	"testing"

	inferencev1 "github.com/windlass-dev/windlass/proto/gen/windlass/inference/v1"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
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
			w := &work{loaded: &sessionsv1.LoadTurnResponse{Surface: &turnv1.Surface{Price: tt.price}}}
			w.priced(tt.used)
			if got := tt.used.GetCostMicros(); got != tt.want {
				t.Errorf("cost %d, want %d", got, tt.want)
			}
		})
	}
}

func TestAReservationBoundsTheAnswer(t *testing.T) {
	for _, tt := range []struct{ asked, reserved, want int32 }{
		{asked: 0, reserved: 0, want: 0},
		{asked: 100, reserved: 0, want: 100},
		{asked: 0, reserved: 70, want: 70},
		{asked: 100, reserved: 70, want: 70},
		{asked: 50, reserved: 70, want: 50},
	} {
		req := &inferencev1.GenerateRequest{MaxOutputTokens: tt.asked}
		(&work{lease: &sessionsv1.Lease{MaxOutputTokens: tt.reserved}}).bound(req)
		if req.GetMaxOutputTokens() != tt.want {
			t.Errorf("asked for %d, reserved %d: %d", tt.asked, tt.reserved, req.GetMaxOutputTokens())
		}
	}
}
