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
)

// TestRerunsOfACompactedTurn runs a turn again that was compacted while it ran, from places before and after that. What is taken over is too
// much for the model as well, so that the re-run is compacted in its turn; no call of the record is made twice, and none of the model's requests is too long.
func TestRerunsOfACompactedTurn(t *testing.T) {
	t.Parallel()
	const rounds, window = 14, 2000
	var longest, summaries atomic.Int64
	number := regexp.MustCompile(`call_id.{1,8}?n(\d+)`)
	model := harness.NewModel(t, func(_ int, messages []any) harness.Answer {
		text := fmt.Sprint(messages)
		longest.Store(max(longest.Load(), int64(len(text))))
		if strings.Contains(text, "Write a summary that takes the place") {
			summaries.Add(1)
			return harness.Answer{Words: []string{"the work so far"}}
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
			Calls:        []harness.Call{{ID: fmt.Sprint("z", next), Tool: "work__slow_once", Args: harness.JSON{"ms": 1, "call_id": fmt.Sprint("n", next)}}},
		}
	})
	c := harness.Up(t, t.TempDir(), model.Env()).Client
	ledger := filepath.Join(t.TempDir(), "ledger")
	server := harness.Start(t, "faulty", nil, harness.Bin(t, "examples/faulty"), "--http", "127.0.0.1:0", "--ledger", ledger)
	c.Must("POST", "/v1/sources", harness.JSON{"kind": "mcp", "name": "work", "url": server.Ready["url"]})
	c.Must("POST", "/v1/agents", harness.JSON{"id": "worker", "tools": []string{"work__slow_once"}, "max_context_tokens": window})
	session := c.Session("worker")
	of := c.Turn(session, "Do all of it.")
	if end := c.Wait(of); end.Str("output") != "all done" || lines(t, ledger, false) != rounds {
		t.Fatalf("%v after %d calls", end, lines(t, ledger, false))
	}
	if n := len(compactions(c, session, of)); n == 0 || summaries.Load() == 0 {
		t.Fatalf("compacted %d times, %d summaries", n, summaries.Load())
	}
	made := rounds
	for _, from := range []int{1, 3, rounds - 2, rounds + 1} {
		for _, tools := range []string{"recorded", "live"} {
			again := c.Must("POST", "/v1/turns/"+of+":rerun", harness.JSON{"from_step": fmt.Sprint(from), "tools": tools})
			end := c.Wait(again.Str("id"))
			if tools == "live" {
				made += rounds + 1 - from
			}
			if end.Str("output") != "all done" || end.Str("status") != "completed" || lines(t, ledger, false) != made {
				t.Errorf("%s from %d: %v, the tool server had %d calls, want %d", tools, from, end, lines(t, ledger, false), made)
			}
			got := c.Must("GET", "/v1/turns/"+of+":compare?with="+again.Str("id"), nil)
			taken := 0
			calls, _ := got["tools"].([]any)
			for _, row := range calls {
				row := harness.JSON(row.(map[string]any))
				b, _ := row["b"].(map[string]any)
				if b["taken_over"] == true {
					taken++
				}
				if row["same_arguments"] != true || b["recorded"] != (tools == "recorded" && b["taken_over"] != true) {
					t.Errorf("%s from %d: %v", tools, from, row)
				}
			}
			if len(calls) != rounds || taken != from-1 {
				t.Errorf("%s from %d: %d calls, %d taken over", tools, from, len(calls), taken)
			}
			if n := len(compactions(c, again.Str("session_id"), again.Str("id"))); n == 0 {
				t.Errorf("%s from %d: not compacted", tools, from)
			}
		}
	}
	if n := longest.Load(); n > 4*window { // about four characters a token
		t.Errorf("a model call read %d characters", n)
	}
}
