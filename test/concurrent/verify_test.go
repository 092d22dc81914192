package concurrent

import (
	"fmt"
	"net/url"
	"slices"
	"time"

	"github.com/windlass-dev/windlass/test/harness"
	"github.com/windlass-dev/windlass/test/linear"
)

// judge compares all books.
func (r *run) judge() {
	r.t.Helper()
	for _, n := range r.notes {
		r.t.Error(n)
	}
	rest := harness.NewClient(r.t, r.system.base)
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
	r.t.Logf("%d operations (%d with unknown outcome), %d partitions checked, %d sessions with %d turns, %d streams compared, %d effects compared, %d violations",
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

// checkStreams compares what each watcher saw with the journal: each durable event once, in order, and none besides.
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
	if same := func(a, b harness.Event) bool { return a.Seq == b.Seq && a.Type == b.Type && a.TurnID == b.TurnID }; !slices.EqualFunc(got, want, same) {
		r.t.Errorf("a watcher of %s saw\n%s\nthe journal has\n%s", what, listed(got), listed(want))
	}
}

// checkEffects compares what the tools did with the ledger, key by key.
func (r *run) checkEffects(rest *harness.Client) int {
	r.t.Helper()
	rows := map[string]harness.JSON{}
	for token := ""; ; {
		page := rest.Must("GET", "/v1/executions?page_size=1000&page_token="+url.QueryEscape(token), nil)
		for _, row := range objects(page["executions"]) {
			if rows[row.Str("key")] != nil {
				r.t.Errorf("two rows of the ledger have the key %s", row.Str("key"))
			}
			rows[row.Str("key")] = row
		}
		if token = page.Str("next_page_token"); token == "" {
			break
		}
	}
	again := r.notDone()
	ran, keys := map[string]int{}, map[string]string{}
	for _, a := range r.tools.done() {
		ran[a.key]++
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
		if once {
			most = 1 + again[row.Str("turn_id")+"/"+row.Str("call_id")]
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

// notDone counts how often somebody may have said that a call was not done, so that it was to be made again.
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

// checkBudgets wants no more calls than a budget admits, and nothing reserved when all is over.
func (r *run) checkBudgets(rest *harness.Client) {
	r.t.Helper()
	poor := map[string]bool{} // turns of the agent
	for _, room := range r.board.all() {
		for _, t := range room.ended {
			poor[t.Str("id")] = room.agent == "poor"
		}
	}
	for _, id := range r.board.budgets {
		b := rest.Must("GET", "/v1/budgets/"+id, nil)
		used, _ := b["used_tool_calls"].(float64)
		if s := b.Str("used_tool_calls"); s != "" {
			_, _ = fmt.Sscan(s, &used)
		}
		if used > poorCalls || b["reserved_tool_calls"] != nil && b["reserved_tool_calls"] != "0" && b["reserved_tool_calls"] != 0.0 {
			r.t.Errorf("budget: %v", b)
		}
		r.t.Logf("budget: %v of %d calls used", used, poorCalls)
	}
}
