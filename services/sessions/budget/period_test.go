package budget

import (
	"testing"
	"time"

	"github.com/windlass-dev/windlass/services/sessions/store/budgetdb"
)

func TestPeriods(t *testing.T) {
	at := func(s string) time.Time {
		v, err := time.Parse(time.RFC3339, s)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	for _, tt := range []struct {
		period budgetdb.BudgetPeriod
		now    string
		want   time.Time
	}{
		{budgetdb.PeriodNone, "2026-03-04T05:06:07Z", time.Time{}},
		{budgetdb.PeriodDay, "2026-03-04T05:06:07Z", at("2026-03-04T00:00:00Z")},
		{budgetdb.PeriodDay, "2026-03-04T23:30:00-02:00", at("2026-03-05T00:00:00Z")},
		{budgetdb.PeriodMonth, "2026-03-31T23:59:59Z", at("2026-03-01T00:00:00Z")},
	} {
		if got := periodStart(tt.period, at(tt.now)); !got.Equal(tt.want) {
			t.Errorf("%s at %s began at %s, want %s", tt.period, tt.now, got, tt.want)
		}
	}
	b := budgetdb.Budget{
		Period: budgetdb.PeriodDay, PeriodStart: at("2026-03-04T00:00:00Z"), Used: budgetdb.Amount{Tokens: 9},
		Reserved: budgetdb.Amount{Tokens: 5},
	}
	startPeriod(&b, at("2026-03-03T23:59:59Z")) // the clock of another machine
	if b.Used.Tokens != 9 {
		t.Error("an earlier period took the place of a later one")
	}
	startPeriod(&b, at("2026-03-05T00:00:00Z"))
	if b.Used.Tokens != 0 || b.Reserved.Tokens != 5 {
		t.Errorf("a new day begins with %+v", b)
	}
}
