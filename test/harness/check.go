package harness

import (
	"strings"
	"testing"
)

// CheckStream fails unless a turn's watcher saw what every watcher must see: each durable event once and without a gap, one terminal
// event at the end, deltas numbered without gap or repeat inside an attempt, and no text twice: the deltas of the attempt that
// succeeded are the message's text, or its beginning where the watcher came late.
func CheckStream(t testing.TB, events []Event) {
	t.Helper()
	var last, terminal, next int
	var text strings.Builder
	for i, e := range events {
		switch {
		case e.Durable():
			if last != 0 && e.Seq != last+1 {
				t.Errorf("event %d is %s with seq %d after seq %d", i, e.Type, e.Seq, last)
			}
			last = e.Seq
		case e.Delta > 0:
			if e.Delta != next {
				t.Errorf("event %d is delta %d of seq %d, want delta %d", i, e.Delta, e.Seq, next)
			}
			next = e.Delta + 1
		}
		switch e.Type {
		case "message.started", "message.reset":
			next = 1
			text.Reset()
		case "message.delta":
			text.WriteString(e.Data.Str("text"))
		case "message.completed":
			checkText(t, e, text.String(), next)
		case "turn.completed", "turn.failed", "turn.cancelled":
			terminal++
			if i != len(events)-1 {
				t.Errorf("%s is event %d of %d", e.Type, i+1, len(events))
			}
		}
		if strings.HasPrefix(e.Type, "unreadable") {
			t.Errorf("event %d: %s", i, e.Type)
		}
	}
	if terminal != 1 {
		t.Errorf("%d terminal events, want 1", terminal)
	}
}

func checkText(t testing.TB, e Event, deltas string, next int) {
	t.Helper()
	message, _ := e.Data["message"].(map[string]any)
	parts, _ := message["content"].([]any)
	var whole strings.Builder
	for _, p := range parts {
		if m, ok := p.(map[string]any); ok {
			s, _ := m["text"].(string)
			whole.WriteString(s)
		}
	}
	sent, _ := e.Data["deltas"].(float64)
	if next-1 == int(sent) && deltas != whole.String() {
		t.Errorf("all %d deltas came, but they make %q, not %q", int(sent), deltas, whole.String())
	}
	if !strings.HasPrefix(whole.String(), deltas) {
		t.Errorf("deltas %q are no beginning of %q: text came twice or in disorder", deltas, whole.String())
	}
}

// Must ends a test with an error.
func Must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
