package turn

import (
	"fmt"

	"google.golang.org/protobuf/proto"

	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/money"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/sessions/store"
	"github.com/windlass-dev/windlass/services/sessions/store/budgetdb"
)

// describeLimit returns the limit that ended a turn with its code, message and hint; nil for nil.
func describeLimit(t store.Turn, l *turnv1.LimitReached) *turnv1.LimitReached {
	if l == nil {
		return nil
	}
	l = proto.CloneOf(l)
	if l.GetBudgetId() == t.ID { // its own limits are kept as a budget with its id
		l.BudgetId = ""
	}
	l.Code = fault.CodeName(faultv1.Reason_REASON_LIMIT_REACHED)
	if budgetdb.BudgetScope(l.GetScope()).Quota() {
		l.Code = fault.CodeName(faultv1.Reason_REASON_QUOTA_EXCEEDED)
	}
	l.Message = "The turn was stopped: " + LimitText(l) + ". What it said until then stays."
	l.Hint = limitHint(t, l)
	if l.GetLimit() == "max_cost" {
		l.Cost = money.Text(l.GetValue())
	}
	return l
}

// LimitText says what a limit allows.
func LimitText(l *turnv1.LimitReached) string {
	whose := "may"
	switch {
	case l.GetScope() == string(budgetdb.ScopeTenantQuota):
		return fmt.Sprintf("the turns of the tenant may together read and write %s per day", times(l.GetValue(), "token"))
	case l.GetScope() == string(budgetdb.ScopeUserQuota):
		return fmt.Sprintf("the turns of the user may together read and write %s per day", times(l.GetValue(), "token"))
	case l.GetBudgetId() == "":
	case l.GetScope() == string(budgetdb.ScopeTurn):
		whose = fmt.Sprintf("and the turn %s that it works for may together", l.GetBudgetId())
	default:
		whose = fmt.Sprintf("and others may, by budget %s of the %s,", l.GetBudgetId(), l.GetScope())
	}
	switch l.GetLimit() {
	case "max_steps":
		return fmt.Sprintf("it %s take %s", whose, times(l.GetValue(), "model step"))
	case "max_tool_calls":
		return fmt.Sprintf("it %s make %s", whose, times(l.GetValue(), "tool call"))
	case "max_tokens":
		return fmt.Sprintf("it %s read and write %s", whose, times(l.GetValue(), "token"))
	case "max_cost":
		return fmt.Sprintf("it %s cost %s", whose, money.Micros(l.GetValue()))
	case "max_identical_calls":
		return fmt.Sprintf("the same tool may be called with the same arguments %s in a row, and one more call was not made",
			times(l.GetValue(), "time"))
	case "turn_seconds":
		if l.GetValue() == 0 {
			return "its time is up"
		}
		return fmt.Sprintf("it may take %d s, waiting for people not counted", l.GetValue())
	case "max_output_tokens":
		if l.GetValue() == 0 {
			return "the model wrote as much as it may in one answer, or its window is full"
		}
		return fmt.Sprintf("one answer of the model may have %s", times(l.GetValue(), "token"))
	default:
		return fmt.Sprintf("%s is %d", l.GetLimit(), l.GetValue())
	}
}

// limitHint says what to do about it.
func limitHint(t store.Turn, l *turnv1.LimitReached) string {
	switch {
	case budgetdb.BudgetScope(l.GetScope()).Quota():
		return "Go on with a further turn of the session after midnight (UTC), or ask an administrator for a higher quota."
	case l.GetBudgetId() != "" && l.GetScope() == string(budgetdb.ScopeTurn):
		return fmt.Sprintf("Raise limits.%s of the request of turn %s if it set it, else of that turn's agent.", l.GetLimit(), l.GetBudgetId())
	case l.GetBudgetId() != "":
		return fmt.Sprintf("Raise %s of budget %s, or wait for its next period if it has one; then go on with a further turn of the session.",
			l.GetLimit(), l.GetBudgetId())
	case l.GetLimit() == "max_output_tokens":
		return fmt.Sprintf("Raise max_output_tokens of agent %q, if the model can write more, or have it go on with a further turn of the "+
			"session.", t.AgentID)
	case l.GetLimit() == "max_identical_calls":
		return fmt.Sprintf("See what the tool answers, the model does not get on with it; or raise limits.max_identical_calls of agent %q.",
			t.AgentID)
	default:
		return fmt.Sprintf("Go on with a further turn of the session, or raise limits.%s, of the request if it set it, else of agent %q.",
			l.GetLimit(), t.AgentID)
	}
}

// times counts things, whose plural ends with s.
func times(n int64, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}
