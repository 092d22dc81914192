package sessions

import (
	"testing"
	"time"

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
