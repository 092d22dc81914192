package show

import (
	"fmt"
	"strings"

	"github.com/windlass-dev/windlass/libs/money"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
)

// budgetText says which limit is near or reached.
func budgetText(ev *turnv1.Event) string {
	use := ev.GetBudgetWarning().GetUse()
	if use == nil {
		use = ev.GetBudgetExhausted().GetUse()
	}
	shown := func(n int64) string {
		if use.GetWhat() == "cost" {
			return money.Micros(n).String()
		}
		return fmt.Sprint(n)
	}
	used := shown(use.GetUsed()) + " used"
	if held := ev.GetBudgetExhausted().GetReserved(); held > 0 {
		used += " and " + shown(held) + " held"
	}
	return fmt.Sprintf("%s of %s: %s of %s (%s)", strings.ReplaceAll(use.GetWhat(), "_", " "), use.GetScope(), used, shown(use.GetLimit()),
		use.GetBudgetId())
}
