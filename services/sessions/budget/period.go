package budget

import (
	"time"

	"github.com/windlass-dev/windlass/services/sessions/store/budgetdb"
)

// startPeriod starts the period of a budget that now belongs to, if that is later than the one counted so far. What steps hold stays held.
func startPeriod(b *budgetdb.Budget, now time.Time) {
	if start := periodStart(b.Period, now); start.After(b.PeriodStart) {
		b.PeriodStart, b.Used = start, budgetdb.Amount{}
	}
}

// periodStart returns when the period of a time began, in UTC; the zero time without a period.
func periodStart(period budgetdb.BudgetPeriod, t time.Time) time.Time {
	t = t.UTC()
	switch period {
	case budgetdb.PeriodDay:
		return time.Date(t.Year(), t.Month(), t.Day(), 0, 0, 0, 0, time.UTC)
	case budgetdb.PeriodMonth:
		return time.Date(t.Year(), t.Month(), 1, 0, 0, 0, 0, time.UTC)
	default:
		return time.Time{}
	}
}
