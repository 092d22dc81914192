package show

import (
	"strings"
	"testing"

	"github.com/windlass-dev/windlass/internal/cli/app"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
)

func TestDurationsAreForPeople(t *testing.T) {
	for ms, want := range map[int64]string{
		0: "0 ms", 999: "999 ms", 1000: "1.0 s", 12_400: "12 s", 61_000: "1 min 1 s", 3_600_000: "1 h 0 min", 604_800_000: "168 h 0 min",
	} {
		if got := duration(ms); got != want {
			t.Errorf("%d: %s, want %s", ms, got, want)
		}
	}
}

func TestResultsThatWereNotMadeNowSaySo(t *testing.T) {
	for want, c := range map[string]*turnv1.ToolCallCompleted{
		"(recorded)": {Recorded: true}, "(cached)": {Cached: true}, "(2.5 s)": {LatencyMs: 2500},
	} {
		if got := resultText(c); !strings.HasSuffix(got, want) {
			t.Errorf("%q lacks %s", got, want)
		}
	}
}

// A limit that is exhausted by calls that run now has no room, although none of them is counted yet.
func TestAnExhaustedBudgetIsUsedUp(t *testing.T) {
	text := eventText(&turnv1.Event{Data: &turnv1.Event_BudgetExhausted{BudgetExhausted: &turnv1.BudgetExhausted{
		Use: &turnv1.LimitUse{Scope: "turn", BudgetId: "trn_1", What: "tool_calls", Limit: 1}, Reserved: 1,
	}}})
	if want := "tool calls of turn: 1 of 1 used, 1 of it by what runs now (trn_1)"; text != want {
		t.Errorf("%q, want %q", text, want)
	}
}

// A model that is asked several times in a turn is offered the same tools each time.
func TestWhatAModelWasNotOfferedIsShownOnce(t *testing.T) {
	var out strings.Builder
	v := NewView(&app.App{Out: &out})
	ev := &turnv1.Event{Data: &turnv1.Event_MessageCompleted{MessageCompleted: &turnv1.MessageCompleted{
		Message: &turnv1.Message{Role: turnv1.Role_ROLE_ASSISTANT, Content: []*turnv1.ContentPart{
			{Part: &turnv1.ContentPart_Text{Text: "hello"}},
		}},
		Warnings: []string{"the tool x is not offered"},
	}}}
	for range 2 {
		if err := v.Event(ev); err != nil {
			t.Fatal(err)
		}
	}
	if want := "hello\n(warning: the tool x is not offered)\nhello\n"; out.String() != want {
		t.Errorf("it shows %q, want %q", out.String(), want)
	}
	if line := EventLine(ev); !strings.Contains(line, "hello; warning: the tool x is not offered") {
		t.Errorf("the event is shown as %q", line)
	}
}
