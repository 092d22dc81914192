package turn_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/windlass-dev/windlass/libs/fault"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/sessions/sessionstest"
	"github.com/windlass-dev/windlass/services/sessions/step"
	"github.com/windlass-dev/windlass/services/sessions/store"
	"github.com/windlass-dev/windlass/services/sessions/turn"
)

func TestEachLimitSaysWhatItAllows(t *testing.T) {
	for _, row := range []struct {
		limit string
		value int64
		want  string
	}{
		{"max_steps", 3, "it may take 3 model steps"},
		{"max_tool_calls", 4, "it may make 4 tool calls"},
		{"max_tokens", 500, "it may read and write 500 tokens"},
		{"max_cost", 250_000, "it may cost 0.25"},
		{"max_identical_calls", 2, "the same tool may be called with the same arguments 2 times in a row, and one more call was not made"},
		{"turn_seconds", 60, "it may take 60 s, waiting for people not counted"},
		{"turn_seconds", 0, "its time is up"},
		{"max_output_tokens", 80, "one answer of the model may have 80 tokens"},
		{"max_output_tokens", 0, "the model wrote as much as it may in one answer, or its window is full"},
		{"max_dreams", 7, "max_dreams is 7"},
	} {
		if got := turn.LimitText(&turnv1.LimitReached{Limit: row.limit, Value: row.value}); got != row.want {
			t.Errorf("%s: %q, want %q", row.limit, got, row.want)
		}
	}
}

func TestASharedLimitSaysWhoSharesIt(t *testing.T) {
	for _, row := range []struct{ scope, want string }{
		{"turn", "it and the turn trn_parent that it works for may together read and write 9 tokens"},
		{"session", "it and others may, by budget trn_parent of the session, read and write 9 tokens"},
		{"tenant", "it and others may, by budget trn_parent of the tenant, read and write 9 tokens"},
	} {
		l := &turnv1.LimitReached{Limit: "max_tokens", Value: 9, BudgetId: "trn_parent", Scope: row.scope}
		if got := turn.LimitText(l); got != row.want {
			t.Errorf("%s: %q, want %q", row.scope, got, row.want)
		}
	}
}

// endedBy has a turn end with a limit, and returns the limit as its end tells it.
func endedBy(k *sessionstest.Kit, l *turnv1.LimitReached) *turnv1.LimitReached {
	k.Helper()
	t := k.Begun("hello")
	if l.GetBudgetId() == "its own" {
		l.BudgetId = t.ID
	}
	k.Commit(t, "finish", func(c *step.Commit) {
		c.Ending = &turnv1.Ending{Status: turnv1.TurnStatus_TURN_STATUS_COMPLETED, StopReason: "limit", LimitReached: l}
	})
	return k.Read(t.ID).End.GetLimitReached()
}

func TestALimitThatEndsATurnSaysWhatToDo(t *testing.T) {
	k := sessionstest.New(t, sessionstest.Config{})
	for _, row := range []struct {
		name  string
		limit *turnv1.LimitReached
		hint  string
	}{
		{"steps", &turnv1.LimitReached{Limit: "max_steps", Value: 3}, "raise limits.max_steps"},
		{"its own tokens", &turnv1.LimitReached{Limit: "max_tokens", Value: 3, BudgetId: "its own", Scope: "turn"}, "raise limits.max_tokens"},
		{"tokens of its parent", &turnv1.LimitReached{Limit: "max_tokens", Value: 3, BudgetId: "trn_p", Scope: "turn"}, "request of turn trn_p"},
		{"a budget", &turnv1.LimitReached{Limit: "max_cost", Value: 3, BudgetId: "bud_1", Scope: "agent"}, "Raise max_cost of budget bud_1"},
		{"one answer", &turnv1.LimitReached{Limit: "max_output_tokens", Value: 3}, `Raise max_output_tokens of agent "assistant"`},
		{"a loop", &turnv1.LimitReached{Limit: "max_identical_calls", Value: 3}, "See what the tool answers"},
	} {
		got := endedBy(k, row.limit)
		if !strings.Contains(got.GetHint(), row.hint) || got.GetCode() != fault.CodeName(faultv1.Reason_REASON_LIMIT_REACHED) ||
			!strings.Contains(got.GetMessage(), turn.LimitText(got)) {
			t.Errorf("%s: %v", row.name, got)
		}
		if strings.HasPrefix(row.name, "its own") && got.GetBudgetId() != "" {
			t.Errorf("the turn's own limits are told as budget %s", got.GetBudgetId())
		}
	}
}

func TestErrorsOfTheStoreAreThoseOfTurns(t *testing.T) {
	other := errors.New("other")
	for _, row := range []struct {
		err  error
		want faultv1.Reason
	}{
		{store.ErrNotFound, faultv1.Reason_REASON_NOT_FOUND},
		{store.ErrNotNew, faultv1.Reason_REASON_CONFLICT},
		{nil, faultv1.Reason_REASON_UNSPECIFIED},
	} {
		if got := fault.ReasonOf(turn.Fault(row.err, "trn_1")); got != row.want {
			t.Errorf("%v: got %s, want %s", row.err, got, row.want)
		}
	}
	if err := turn.Fault(other, "trn_1"); !errors.Is(err, other) {
		t.Errorf("another error became %v", err)
	}
}

func TestOnlyEndsAreTerminal(t *testing.T) {
	for number, name := range turnv1.TurnStatus_name {
		status := turnv1.TurnStatus(number)
		want := strings.HasSuffix(name, "COMPLETED") || strings.HasSuffix(name, "FAILED") || strings.HasSuffix(name, "CANCELLED")
		if got := turn.Terminal(status); got != want {
			t.Errorf("%s is terminal: %t", name, got)
		}
	}
}
