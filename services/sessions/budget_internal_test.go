package sessions

import (
	"testing"
	"time"

	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/sessions/store"
)

func TestPeriods(t *testing.T) {
	at := func(s string) int64 {
		v, err := time.Parse(time.RFC3339, s)
		if err != nil {
			t.Fatal(err)
		}
		return v.UnixMicro()
	}
	for _, tt := range []struct {
		period, now string
		want        int64
	}{
		{"none", "2026-03-04T05:06:07Z", 0},
		{"day", "2026-03-04T05:06:07Z", at("2026-03-04T00:00:00Z")},
		{"day", "2026-03-04T23:30:00-02:00", at("2026-03-05T00:00:00Z")},
		{"month", "2026-03-31T23:59:59Z", at("2026-03-01T00:00:00Z")},
	} {
		if got := periodStart(tt.period, at(tt.now)); got != tt.want {
			t.Errorf("%s at %s began at %d, want %d", tt.period, tt.now, got, tt.want)
		}
	}
	b := store.Budget{
		Period: "day", PeriodUs: at("2026-03-04T00:00:00Z"), Used: store.Amount{Tokens: 9}, Reserved: store.Amount{Tokens: 5},
	}
	turnPage(&b, at("2026-03-03T23:59:59Z")) // the clock of another machine
	if b.Used.Tokens != 9 {
		t.Error("an earlier period took the place of a later one")
	}
	turnPage(&b, at("2026-03-05T00:00:00Z"))
	if b.Used.Tokens != 0 || b.Reserved.Tokens != 5 {
		t.Errorf("a new day begins with %+v", b)
	}
}

func TestRoomOfAModelStep(t *testing.T) {
	price := &turnv1.Price{InputMicros: 1_000_000, OutputMicros: 4_000_000} // 1 and 4 micros a token
	for _, tt := range []struct {
		name   string
		plan   modelPlan
		budget store.Budget
		want   int64
		what   string
	}{
		{
			name: "tokens that are left, less the prompt", want: 300, what: limitTokens, plan: modelPlan{calls: 1, input: 200},
			budget: store.Budget{Max: store.Amount{Tokens: 1000}, Used: store.Amount{Tokens: 400}, Reserved: store.Amount{Tokens: 100}},
		},
		{
			name: "shared by the calls of a step", want: 100, what: limitTokens, plan: modelPlan{calls: 2, input: 150},
			budget: store.Budget{Max: store.Amount{Tokens: 500}},
		},
		{
			name: "what the money buys", want: 200, what: limitCost, plan: modelPlan{calls: 1, input: 200, price: price},
			budget: store.Budget{Max: store.Amount{Tokens: 9000, Cost: 1000}},
		},
		{
			name: "not even the prompt", want: -1, what: limitCost, plan: modelPlan{calls: 1, input: 2000, price: price},
			budget: store.Budget{Max: store.Amount{Cost: 1000}},
		},
		{
			name: "a model without a price is free", want: 1 << 62, plan: modelPlan{calls: 1, input: 2000},
			budget: store.Budget{Max: store.Amount{Cost: 1000}},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, what := tt.plan.room(tt.budget)
			if tt.want == 1<<62 {
				if got < tt.want || what != "" {
					t.Errorf("room %d %q", got, what)
				}
			} else if got != tt.want || what != tt.what {
				t.Errorf("room %d %q, want %d %q", got, what, tt.want, tt.what)
			}
		})
	}
}
