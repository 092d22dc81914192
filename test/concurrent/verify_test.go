package concurrent

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"time"

	"github.com/windlass-dev/windlass/test/harness"
	"github.com/windlass-dev/windlass/test/linear"
)

// judge compares all records.
func (r *run) judge() {
	r.t.Helper()
	for _, n := range r.notes {
		r.t.Error(n)
	}
	rest := r.system.client(r.t)
	rooms := r.board.all()
	for _, room := range rooms {
		room.checkJournal(r.t)
	}
	streams := r.checkStreams(rooms)
	effects := r.checkEffects(rest)
	r.checkBudgets(rest)
	report := r.check()
	turns := 0
	for _, room := range rooms {
		turns += len(room.ended)
	}
	r.t.Logf("seed %d; faults: %v", r.plan.seed, r.faults)
	r.t.Logf("%d operations (%d with unknown outcome), %d partitions checked, %d sessions with %d turns, %d streams compared, %d effects "+
		"compared, %d violations",
		report.Operations, report.Unknown, report.Partitions, len(rooms), turns, streams, effects, len(report.Violations))
	r.t.Log(r.tally())
}

// tally counts operations by what was answered.
func (r *run) tally() map[string]int {
	count := map[string]int{}
	for _, op := range r.recorder.Operations() {
		count[fmt.Sprintf("%s %s", op.In.Kind, op.Out.Code)]++
	}
	return count
}

// checkStreams compares what each watcher saw with the journal: each durable event once, in order, and nothing else.
func (r *run) checkStreams(rooms []*room) (compared int) {
	r.t.Helper()
	journals := map[string][]harness.Event{} // of turns
	for _, room := range rooms {
		for _, e := range room.journal {
			journals[e.TurnID] = append(journals[e.TurnID], e)
		}
		r.sameStream("session "+room.id, room.watcher, room.journal)
		compared++
	}
	for turn, w := range r.board.watchers {
		r.sameStream("turn "+turn, w, journals[turn])
		compared++
	}
	return compared
}

func (r *run) sameStream(what string, w *harness.Watcher, want []harness.Event) {
	r.t.Helper()
	var got []harness.Event
	harness.Eventually(time.Minute, func() bool {
		got = harness.Durables(w.Events())
		return len(got) >= len(want)
	})
	if same := func(a, b harness.Event) bool { return a.Seq == b.Seq && a.Type == b.Type && a.TurnID == b.TurnID }; !slices.EqualFunc(got,
		want, same) {
		r.t.Errorf("a watcher of %s (%d connections, newest refusal %q) saw\n%s\nthe journal has\n%s", what, w.Connects(), w.Refusal(),
			listed(got), listed(want))
	}
}

// checkEffects compares what the tools did with the ledger, key by key.
func (r *run) checkEffects(rest *harness.Client) int {
	r.t.Helper()
	rows := map[string]harness.JSON{}
	for _, row := range r.pages(rest, "/v1/executions", "executions") {
		if rows[row.Str("key")] != nil {
			r.t.Errorf("two rows of the ledger have the key %s", row.Str("key"))
		}
		rows[row.Str("key")] = row
	}
	again := r.notDone()
	ran, keys := map[string]int{}, map[string]string{}
	for _, a := range r.tools.done() {
		ran[a.key]++
		if a.tool == "read" && a.key != "" && rows[a.key] == nil && len(r.faults) > 0 {
			continue // its row follows the answer, and a kill loses the last ones
		}
		if a.key == "" || rows[a.key] == nil || rows[a.key].Str("tool") != "x__"+a.tool {
			r.t.Errorf("%s %s ran with the key %q, of which the ledger has %v", a.tool, a.n, a.key, rows[a.key])
		}
		if k, ok := keys[a.n]; ok && k != a.key {
			r.t.Errorf("the call %s ran with the keys %s and %s", a.n, k, a.key)
		}
		keys[a.n] = a.key
	}
	for key, row := range rows {
		attempts, _ := row["attempts"].(float64)
		once := row.Str("tool") == "x__send" || row.Str("tool") == "x__doubt"
		most := int(attempts)
		switch {
		case once:
			most = 1 + again[row.Str("turn_id")+"/"+row.Str("call_id")]
		case row.Str("tool") == "x__read": // its row follows the answer: a kill between them leaves no trace of the attempt
			for _, n := range r.faults {
				most += n
			}
		}
		if ran[key] > most {
			r.t.Errorf("%s ran %d times, want %d at most: %v", row.Str("tool"), ran[key], most, row)
		}
		if row.Str("state") == "done" && row.Str("resolution") == "" && ran[key] == 0 {
			r.t.Errorf("%s never ran, and the ledger has %v", row.Str("tool"), row)
		}
	}
	return len(rows)
}

// notDone counts how often a call may have been resolved as not done, so that it ran again.
func (r *run) notDone() map[string]int {
	calls := map[string]string{}
	for _, a := range r.board.approvals {
		calls[a.Str("id")] = a.Str("turn_id") + "/" + a.Str("call_id")
	}
	count := map[string]int{}
	for _, op := range r.recorder.Operations() {
		if op.In.Kind == linear.Resolve && op.In.Choice == "not_done" && (op.Out.Code == linear.OK || op.Out.Code == linear.Unknown) {
			count[calls[op.In.Approval]]++
		}
	}
	return count
}

// checkBudgets checks that no more calls run than a budget admits, that only admitted ones are counted, and that nothing stays reserved in
// the end.
func (r *run) checkBudgets(rest *harness.Client) {
	r.t.Helper()
	poor := map[string]bool{}
	for _, turn := range r.pages(rest, "/v1/turns", "turns") {
		poor[turn.Str("id")] = turn.Str("agent_id") == "poor"
	}
	turns, acted := map[string]string{}, map[string]bool{}
	for _, row := range r.pages(rest, "/v1/executions", "executions") {
		turns[row.Str("key")] = row.Str("turn_id")
	}
	for _, a := range r.tools.done() {
		if poor[turns[a.key]] {
			acted[a.key] = true
		}
	}
	b := rest.Must("GET", "/v1/budgets/"+r.board.budget, nil)
	used, err := number(b["used_tool_calls"])
	reserved, err2 := number(b["reserved_tool_calls"])
	if err := errors.Join(err, err2); err != nil || used > poorCalls || reserved != 0 || len(acted) > poorCalls {
		r.t.Errorf("%d calls ran, %d are admitted: %v %v", len(acted), poorCalls, b, err)
	}
	r.t.Logf("%d calls of the budget's %d are used, %d ran", used, poorCalls, len(acted))
}

// number reads a number that JSON holds as text or as a number.
func number(v any) (n int, err error) {
	if v != nil {
		_, err = fmt.Sscan(fmt.Sprint(v), &n)
	}
	return n, err
}

// pages reads a whole list.
func (r *run) pages(rest *harness.Client, path, field string) (all []harness.JSON) {
	r.t.Helper()
	for token := ""; ; {
		page := rest.Must("GET", path+"?page_size=1000&page_token="+url.QueryEscape(token), nil)
		all = append(all, objects(page[field])...)
		if token = page.Str("next_page_token"); token == "" {
			return all
		}
	}
}
