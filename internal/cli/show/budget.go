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
	// What steps that run now hold is not free either: of one call that is made at this moment, none is left.
	held := ev.GetBudgetExhausted().GetReserved() + ev.GetBudgetWarning().GetReserved()
	used := fmt.Sprintf("%s of %s used", shown(use.GetUsed()+held), shown(use.GetLimit()))
	if held > 0 {
		used += ", " + shown(held) + " of it by what runs now"
	}
	words := func(name string) string { return strings.ReplaceAll(name, "_", " ") }
	text := fmt.Sprintf("%s of %s: %s", words(use.GetWhat()), words(use.GetScope()), used)
	if use.GetBudgetId() == "" { // a quota
		return text
	}
	return text + " (" + use.GetBudgetId() + ")"
}
