package concurrent

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/windlass-dev/windlass/test/harness"
	"github.com/windlass-dev/windlass/test/linear"
)

// export reads a room whose turns are over, with its journal.
func (r *room) export(t testing.TB, rest *harness.Client) {
	t.Helper()
	all := rest.Must("GET", "/v1/sessions/"+r.id+":export?include_events=true", nil)
	raw, err := json.Marshal(all["events"])
	if err == nil {
		err = json.Unmarshal(raw, &r.journal)
	}
	if err != nil {
		t.Fatalf("session %s: %v", r.id, err)
	}
	r.ended = objects(all["turns"])
	session, _ := all["session"].(map[string]any)
	if n, _ := session["last_seq"].(float64); int(n) != len(r.journal) {
		t.Errorf("session %s has %v events in its journal, and says %v", r.id, len(r.journal), session["last_seq"])
	}
}

// outcome is the result that the model has to explain.
func (r *room) outcome() *linear.Outcome {
	statuses := map[string]string{}
	for _, t := range r.ended {
		statuses[t.Str("id")] = t.Str("status")
	}
	out, at := &linear.Outcome{}, map[string]int{}
	for _, e := range r.journal {
		switch e.Type {
		case "turn.queued":
			at[e.TurnID] = len(out.Turns)
			out.Turns = append(out.Turns, linear.FinalTurn{ID: e.TurnID, Key: keyOf(said(e.Data["input"])), Status: statuses[e.TurnID]})
		case "turn.started":
			out.Started = append(out.Started, e.TurnID)
		case "input.accepted":
			t := &out.Turns[at[e.TurnID]]
			t.Steers = append(t.Steers, keyOf(said(e.Data["content"])))
		}
	}
	return out
}

// said is the text of content.
func said(parts any) string {
	var b strings.Builder
	for _, p := range objects(parts) {
		b.WriteString(p.Str("text"))
	}
	return b.String()
}

// checkJournal checks that each turn starts once, ends once with nothing after it, ended as reported, and, if it was completed, that the
// model saw all of its input.
func (r *room) checkJournal(t testing.TB) {
	t.Helper()
	of := map[string][]harness.Event{}
	for i, e := range r.journal {
		if e.Seq != i+1 {
			t.Errorf("session %s: event %d of its journal has seq %d", r.id, i+1, e.Seq)
		}
		if e.TurnID != "" {
			of[e.TurnID] = append(of[e.TurnID], e)
		}
	}
	if len(of) != len(r.ended) {
		t.Errorf("session %s: %d turns in its journal, %d in its list", r.id, len(of), len(r.ended))
	}
	for _, turn := range r.ended {
		events := of[turn.Str("id")]
		count := map[string]int{}
		for _, e := range events {
			count[e.Type]++
		}
		status := turn.Str("status")
		ends := count["turn.completed"] + count["turn.failed"] + count["turn.cancelled"]
		if len(events) == 0 || events[0].Type != "turn.queued" || events[len(events)-1].Type != "turn."+status || ends != 1 ||
			count["turn.queued"] != 1 || count["turn.started"] > 1 {
			t.Errorf("turn %s is %s, and its journal has\n%s", turn.Str("id"), status, listed(events))
		}
		if status == "failed" {
			t.Errorf("turn %s failed: %v", turn.Str("id"), turn["error"])
		}
	}
	for _, turn := range r.outcome().Turns {
		answer := ""
		for _, one := range r.ended {
			if one.Str("id") == turn.ID && one.Str("stop_reason") == "end" {
				answer = " " + one.Str("output") + " "
			}
		}
		for _, key := range append([]string{turn.Key}, turn.Steers...) {
			if turn.Status == "completed" && answer != "" && !strings.Contains(answer, " "+key+" ") {
				t.Errorf("turn %s answered %q without having read the input %s", turn.ID, answer, key)
			}
		}
	}
}

func listed(events []harness.Event) string {
	var b strings.Builder
	for _, e := range events {
		fmt.Fprintln(&b, e.Seq, e.Type, e.TurnID)
	}
	return b.String()
}

// shown returns the text of an answer, or of its error.
func shown(answer harness.JSON, err error) string {
	if err != nil {
		return err.Error()
	}
	raw, _ := json.Marshal(answer) // it came as JSON
	return string(raw)
}
