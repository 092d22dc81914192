package money_test

import (
	"math"
	"testing"

	"github.com/windlass-dev/windlass/libs/money"
)

func TestParse(t *testing.T) {
	for _, tt := range []struct {
		text string
		want money.Micros
		back string
		bad  bool
	}{
		{text: "", want: 0, back: "0"},
		{text: "25", want: 25_000_000, back: "25"},
		{text: "0.25", want: 250_000, back: "0.25"},
		{text: "0.000001", want: 1, back: "0.000001"},
		{text: "3.10", want: 3_100_000, back: "3.1"},
		{text: "999999999.999999", want: 999_999_999_999_999, back: "999999999.999999"},
		{text: "1000000000", bad: true},
		{text: "-1", bad: true},
		{text: "+1", bad: true},
		{text: ".5", bad: true},
		{text: "5.", bad: true},
		{text: "1e3", bad: true},
		{text: "0.0000001", bad: true},
		{text: "1,5", bad: true},
		{text: "1.2.3", bad: true},
		{text: " 1", bad: true},
	} {
		t.Run(tt.text, func(t *testing.T) {
			got, err := money.Parse(tt.text)
			if (err != nil) != tt.bad || got != tt.want {
				t.Fatalf("Parse = %d, %v", got, err)
			}
			if !tt.bad && got.String() != tt.back {
				t.Errorf("String = %q, want %q", got, tt.back)
			}
		})
	}
}

func TestPerMillion(t *testing.T) {
	for _, tt := range []struct{ count, price, want int64 }{
		{count: 1_000_000, price: 2_500_000, want: 2_500_000},
		{count: 1, price: 2_500_000, want: 3}, // 2.5 micros, rounded up
		{count: 1, price: 1, want: 1},
		{count: 0, price: 5, want: 0},
		{count: 5, price: 0, want: 0},
	} {
		if got := money.Ceil(money.PerMillion(tt.count, tt.price)); got != tt.want {
			t.Errorf("%d at %d = %d, want %d", tt.count, tt.price, got, tt.want)
		}
	}
	if got := money.PerMillion(math.MaxInt64, math.MaxInt64); got <= 0 {
		t.Errorf("the largest sum = %d", got)
	}
}
