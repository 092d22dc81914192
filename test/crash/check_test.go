package crash

import (
	"strings"

	"github.com/windlass-dev/windlass/test/harness"
)

// promise is the required result of a turn.
type promise struct {
	// modelCalls is the fewest and the most model calls that may be counted.
	modelCalls [2]float64
	// toolCalls is how many tool calls are counted.
	toolCalls float64
	// toolCode is the code of the tool's outcome, toolText a part of what the model was told.
	toolCode, toolText string
	// lossy allows the live watcher to miss deltas but not durable events: the bus itself was killed.
	lossy bool
}

// check fails unless the turn completed with the whole answer, ended once, and everyone sees the same: the watcher that reconnected with
// its cursor, a late watcher, and one that reads the session from its start.
func (s *scene) check(p promise) {
	s.t.Helper()
	end := s.client.Wait(s.turn)
	if end.Str("status") != "completed" || end.Str("output") != answer {
		s.t.Errorf("turn = %v, want completed with %q", end, answer)
	}
	usage, _ := end["usage"].(map[string]any)
	model, _ := usage["model_calls"].(float64)
	tools, _ := usage["tool_calls"].(float64)
	if model < p.modelCalls[0] || model > p.modelCalls[1] || tools != p.toolCalls {
		s.t.Errorf("usage = %v, want %v model calls and %v tool calls", usage, p.modelCalls, p.toolCalls)
	}
	live := s.watcher.End()
	if p.lossy {
		live = harness.Durables(live)
	}
	harness.CheckStream(s.t, live)
	late := s.client.Watch("/v1/turns/" + s.turn + "/events").End()
	harness.CheckStream(s.t, late)
	s.checkJournal(live, late)
	if p.toolCalls > 0 {
		s.checkTool(late, p)
	}
}

// checkJournal reads the session from its start: gap-free, one end, and the same events that the watchers of the turn saw.
func (s *scene) checkJournal(live, late []harness.Event) {
	s.t.Helper()
	w := s.client.Watch("/v1/sessions/" + s.session + "/events")
	w.Until("the turn's end", func(e harness.Event) bool { return e.TurnID == s.turn && terminal(e) })
	journal := harness.Durables(w.Events())
	var of []harness.Event
	for i, e := range journal {
		if e.Seq != i+1 {
			s.t.Errorf("event %d of the journal has seq %d", i+1, e.Seq)
		}
		if e.TurnID == s.turn {
			of = append(of, e)
		}
	}
	want := listed(of)
	for who, events := range map[string][]harness.Event{"live": live, "late": late} {
		if got := listed(harness.Durables(events)); got != want {
			s.t.Errorf("the %s watcher saw\n%s\nthe journal has\n%s", who, got, want)
		}
	}
	if n := s.client.Must("GET", "/v1/sessions/"+s.session, nil)["last_seq"]; n != float64(len(journal)) {
		s.t.Errorf("the journal goes on to %v after the turn's end at %d", n, len(journal))
	}
}

// checkTool checks what the tool server did, what the model was told, and the mesh's own ledger.
func (s *scene) checkTool(events []harness.Event, p promise) {
	s.t.Helper()
	if n := len(s.acts()); n != 1 {
		s.t.Errorf("the tool acted %d times: %v", n, s.acts())
	}
	unresolved := false
	for _, e := range events {
		switch e.Type {
		case "tool_call.unresolved":
			unresolved = true
		case "tool_call.completed":
			if text := toolText(e); e.Data.Str("code") != p.toolCode || !strings.Contains(text, p.toolText) {
				s.t.Errorf("the tool came to %q with code %q, want %q with code %q", text, e.Data.Str("code"), p.toolText, p.toolCode)
			}
		}
	}
	if want := p.toolCode == unknown; unresolved != want {
		s.t.Errorf("tool_call.unresolved: %v, want %v", unresolved, want)
	}
	rows, _ := s.client.Must("GET", "/v1/executions?turn_id="+s.turn, nil)["executions"].([]any)
	if len(rows) != 1 {
		s.t.Fatalf("%d executions in the ledger: %v", len(rows), rows)
	}
	row, _ := rows[0].(map[string]any)
	want := map[bool]string{false: "done", true: "unresolved"}[unresolved]
	if row["state"] != want || row["attempts"] != 1.0 {
		s.t.Errorf("the ledger has %v, want one attempt and state %q", row, want)
	}
}

// unknown is the code of a ONCE call with unknown outcome.
const unknown = "outcome_unknown"

func terminal(e harness.Event) bool {
	return e.Type == "turn.completed" || e.Type == "turn.failed" || e.Type == "turn.cancelled"
}

func toolText(e harness.Event) string {
	result, _ := e.Data["result"].(map[string]any)
	content, _ := result["content"].([]any)
	var b strings.Builder
	for _, c := range content {
		part, _ := c.(map[string]any)
		text, _ := part["text"].(string)
		b.WriteString(text)
	}
	return b.String()
}

func listed(events []harness.Event) string {
	var b strings.Builder
	for _, e := range events {
		seq, _, _ := strings.Cut(e.ID, ".") // a live watcher's cursor in mid-message counts deltas too
		b.WriteString(seq + " " + e.Type + "\n")
	}
	return b.String()
}
