package e2e

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/windlass-dev/windlass/test/harness"
	"github.com/windlass-dev/windlass/workflows/contract"
)

// TestRerunsOfACompactedTurn runs a turn again that was compacted while it ran, from places before and after that. What is taken
// over is too much for the model as well, so that the re-run is compacted in its turn; no call of the record is made twice, and
// none of the model's requests is too long.
func TestRerunsOfACompactedTurn(t *testing.T) {
	t.Parallel()
	const rounds, window = 14, 2000
	var longest, summaries atomic.Int64
	number := regexp.MustCompile(`call_id.{1,8}?n(\d+)`)
	model := harness.NewModel(t, func(_ int, messages []any) harness.Answer {
		text := fmt.Sprint(messages)
		longest.Store(max(longest.Load(), int64(len(text))))
		if strings.Contains(text, contract.MarkCompact) {
			summaries.Add(1)
			return harness.Answer{Words: []string{"the work so far"}}
		}
		if !strings.Contains(text, "Do all of it.") {
			return harness.Answer{PromptTokens: len(text) / 4, Words: []string{strings.Repeat("chat ", 120)}}
		}
		next := 1
		if found := number.FindAllStringSubmatch(text, -1); len(found) > 0 {
			last, err := strconv.Atoi(found[len(found)-1][1])
			if err != nil {
				t.Error(err)
			}
			next = last + 1
		}
		if next > rounds {
			return harness.Answer{PromptTokens: len(text) / 4, Words: []string{"all", " done"}}
		}
		return harness.Answer{
			PromptTokens: len(text) / 4,
			Words:        []string{fmt.Sprintf("round %d ", next), strings.Repeat("blah ", 120)},
			Calls: []harness.Call{{
				ID: fmt.Sprint("z", next), Tool: "work__slow_once",
				Args: harness.JSON{"ms": 1, "call_id": fmt.Sprint("n", next)},
			}},
		}
	})
	c := harness.Up(t, t.TempDir(), model.Env()).Client
	ledger := filepath.Join(t.TempDir(), "ledger")
	server := harness.Start(t, "faulty", nil, harness.Bin(t, "examples/faulty"), "--http", "127.0.0.1:0", "--ledger", ledger)
	c.Must("POST", "/v1/sources", harness.JSON{"kind": "mcp", "name": "work", "url": server.Ready["url"]})
	c.Must("POST", "/v1/agents", harness.JSON{"id": "worker", "tools": []string{"work__slow_once"}, "max_context_tokens": window})
	made := 0
	for _, chats := range []int{0, 7} { // that many turns stand before it; with them there is a summary of these too
		r := compactedRun{t: t, c: c, ledger: ledger, rounds: rounds, made: &made}
		r.session = c.Session("worker")
		for range chats {
			c.Wait(c.Turn(r.session, "hello "+strings.Repeat("there ", 60)))
		}
		before := summaries.Load()
		r.of = c.Turn(r.session, "Do all of it.")
		made += rounds
		if end := c.Wait(r.of); end.Str("output") != "all done" || lines(t, ledger, false) != made {
			t.Fatalf("%v after %d calls", end, lines(t, ledger, false))
		}
		if n := len(compactions(c, r.session, r.of)); n == 0 || summaries.Load() == before {
			t.Fatalf("compacted %d times, %d summaries", n, summaries.Load())
		}
		for _, from := range []int{1, 3, rounds - 2, rounds + 1} {
			r.again(from, "recorded")
			r.again(from, "live")
		}
	}
	if n := longest.Load(); n > 4*window { // about four characters a token
		t.Errorf("a model call read %d characters", n)
	}
}

// compactedRun is a turn that was compacted while it ran.
type compactedRun struct {
	t                   *testing.T
	c                   *harness.Client
	ledger, session, of string
	rounds              int
	made                *int // calls that the tool server is to have had
}

// again runs the turn again from a step on.
func (r compactedRun) again(from int, tools string) {
	r.t.Helper()
	again := r.c.Must("POST", "/v1/turns/"+r.of+":rerun", harness.JSON{"from_step": fmt.Sprint(from), "tools": tools})
	end := r.c.Wait(again.Str("id"))
	if tools == "live" {
		*r.made += r.rounds + 1 - from
	}
	if n := lines(r.t, r.ledger, false); end.Str("output") != "all done" || end.Str("status") != "completed" || n != *r.made {
		r.t.Errorf("%s from %d: %v, the tool server had %d calls, want %d", tools, from, end, n, *r.made)
	}
	got := r.c.Must("GET", "/v1/turns/"+r.of+":compare?with="+again.Str("id"), nil)
	taken := 0
	calls := list(got, "tools")
	for _, row := range calls {
		b, _ := row["b"].(map[string]any)
		if b["taken_over"] == true {
			taken++
		}
		if row["same_arguments"] != true || b["recorded"] != (tools == "recorded" && b["taken_over"] != true) {
			r.t.Errorf("%s from %d: %v", tools, from, row)
		}
	}
	if len(calls) != r.rounds || taken != from-1 {
		r.t.Errorf("%s from %d: %d calls, %d taken over", tools, from, len(calls), taken)
	}
	if n := len(compactions(r.c, again.Str("session_id"), again.Str("id"))); n == 0 {
		r.t.Errorf("%s from %d: not compacted", tools, from)
	}
}
