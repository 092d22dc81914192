package e2e

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/windlass-dev/windlass/test/harness"
)

// TestCompaction is what becomes of conversations that outgrow their model's window.
func TestCompaction(t *testing.T) {
	t.Parallel()
	up := harness.Up(t, t.TempDir(), nil)
	for name, test := range map[string]func(*testing.T, *harness.Client){
		"a long conversation":     longConversation,
		"a bound that is too low": tooLow,
		"each strategy":           eachStrategy,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, harness.NewClient(t, up.Client.Base))
		})
	}
}

// compactions are the summaries of a session so far.
func compactions(c *harness.Client, session, upTo string) []harness.Event {
	w := c.Watch("/v1/sessions/" + session + "/events")
	w.Until("the last turn's end", func(e harness.Event) bool {
		return e.TurnID == upTo && strings.HasPrefix(e.Type, "turn.") && terminalType(e.Type)
	})
	var out []harness.Event
	for _, e := range w.Events() {
		if e.Type == "context.compacted" {
			out = append(out, e)
		}
	}
	return out
}

func terminalType(kind string) bool {
	return kind == "turn.completed" || kind == "turn.failed" || kind == "turn.cancelled"
}

// longConversation talks until it is compacted more than once: each turn is answered, nothing is lost, and a fork goes on from the summary.
func longConversation(t *testing.T, c *harness.Client) {
	c.Must("POST", "/v1/agents", harness.JSON{"id": "brief", "model": "builtin/scripted", "max_context_tokens": 2000})
	session := c.Session("brief")
	const turns = 24
	last := ""
	for n := range turns {
		last = c.Turn(session, fmt.Sprintf("number %d %s say:noted %d", n, strings.Repeat("blah ", 100), n))
		if end := c.Wait(last); end.Str("output") != fmt.Sprintf("noted %d", n) {
			t.Fatalf("turn %d: %v", n, end)
		}
	}
	done := compactions(c, session, last)
	if len(done) < 2 || len(done) > turns/2 {
		t.Fatalf("%d compactions in %d turns", len(done), turns)
	}
	for i, e := range done {
		if !strings.HasPrefix(e.Data.Str("summary"), "Summary of ") || e.Data["dropped"] == true ||
			e.Data["tokens_after"].(float64) >= e.Data["tokens_before"].(float64) || e.Data["from_seq"] != done[0].Data["from_seq"] {
			t.Errorf("compaction %d: %v", i, e.Data)
		}
	}
	if n := done[len(done)-1].Data["messages"].(float64); n < turns || n > 2*turns {
		t.Errorf("the last summary stands for %v messages", n)
	}
	if n := len(list(c.Must("GET", "/v1/sessions/"+session+"/messages?page_size=1000", nil), "messages")); n != 2*turns {
		t.Errorf("%d messages are left of %d", n, 2*turns)
	}
	exported, _ := bytesOf(t, c, "/v1/sessions/"+session+":export")
	for n := range turns {
		if !strings.Contains(exported, fmt.Sprintf("number %d blah", n)) {
			t.Errorf("message %d is not in the export", n)
		}
	}
	fork := c.Must("POST", "/v1/sessions/"+session+":fork", harness.JSON{}).Str("id")
	turn := c.Turn(fork, "say:forked")
	if end := c.Wait(turn); end.Str("output") != "forked" {
		t.Errorf("the fork's turn: %v", end)
	}
	if used, _ := c.Must("GET", "/v1/turns/"+turn, nil)["usage"].(map[string]any); used["input_tokens"].(float64) > 2000 {
		t.Errorf("the fork read %v", used)
	}
}

func tooLow(t *testing.T, c *harness.Client) {
	status, out, err := c.Do(t.Context(), "POST", "/v1/agents", harness.JSON{"id": "low", "max_context_tokens": 100})
	if err != nil || status != http.StatusBadRequest || !strings.Contains(fmt.Sprint(out), "max_context_tokens") ||
		!strings.Contains(fmt.Sprint(out), "2000") {
		t.Errorf("%d %v %v", status, out, err)
	}
}

// eachStrategy has a conversation go on with every way to think.
func eachStrategy(t *testing.T, c *harness.Client) {
	for _, strategy := range []string{"direct", "plan", "react_text", "auto"} {
		c.Must("POST", "/v1/agents", harness.JSON{
			"id": "brief-" + strategy, "model": "builtin/scripted", "max_context_tokens": 4000, "strategy": strategy, "tools": []string{"mesh__*"},
		})
		session, last := c.Session("brief-"+strategy), ""
		for n := range 10 {
			last = c.Turn(session, fmt.Sprintf("say:first %d %s", n, strings.Repeat("blah ", 400)))
			if end := c.Wait(last); end.Str("status") != "completed" || !strings.Contains(end.Str("output"), fmt.Sprintf("first %d", n)) {
				t.Fatalf("%s: turn %d: %.400v", strategy, n, end)
			}
		}
		if done := compactions(c, session, last); len(done) == 0 {
			t.Errorf("%s: nothing was compacted", strategy)
		}
	}
}

// A provider that knows better than the mesh how much its model reads is believed: the conversation is compacted, and the model
// asked again.
func TestARefusedConversationIsCompacted(t *testing.T) {
	t.Parallel()
	model := harness.NewModel(t, func(_ int, messages []any) harness.Answer {
		size := len(fmt.Sprint(messages))
		if size > 9000 && !strings.Contains(fmt.Sprint(messages[0]), "summarise") {
			return harness.Answer{Raw: func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				w.WriteHeader(http.StatusBadRequest)
				fmt.Fprint(w, `{"error":{"type":"invalid_request_error","code":"context_length_exceeded","message":"too long"}}`)
			}}
		}
		return harness.Answer{Words: []string{"fine"}}
	})
	c := harness.Up(t, t.TempDir(), model.Env()).Client
	c.Must("POST", "/v1/agents", harness.JSON{"id": "a"})
	session, last := c.Session("a"), ""
	for n := range 6 {
		last = c.Turn(session, fmt.Sprintf("number %d %s", n, strings.Repeat("blah ", 400)))
		if end := c.Wait(last); end.Str("output") != "fine" {
			t.Fatalf("turn %d: %v", n, end)
		}
	}
	if done := compactions(c, session, last); len(done) == 0 {
		t.Error("nothing was compacted")
	}
	end := c.Wait(c.Turn(session, strings.Repeat("blah ", 3000)))
	failure, _ := end["error"].(map[string]any)
	if end.Str("status") != "failed" || failure["code"] != "context_too_long" ||
		!strings.Contains(fmt.Sprint(failure["message"]), "longer than") {
		t.Errorf("one that nothing shortens: %v", end)
	}
}

// A turn whose tools say more than the window holds is compacted while it runs: what was asked stays, and no result stands
// without its call.
func TestALongTurnIsCompacted(t *testing.T) {
	t.Parallel()
	const steps = 10
	done := 0
	model := harness.NewModel(t, func(_ int, messages []any) harness.Answer {
		size := len(fmt.Sprint(messages)) / 5
		if strings.Contains(fmt.Sprint(messages[0]), "summarise") {
			return harness.Answer{Words: []string{"much ", "was echoed"}, PromptTokens: size}
		}
		if !strings.Contains(fmt.Sprint(messages), "echo ten times") || size > 6000 {
			t.Errorf("the model reads about %d tokens", size)
		}
		if done++; done > steps {
			return harness.Answer{Words: []string{"done"}, PromptTokens: size}
		}
		return harness.Answer{PromptTokens: size, Calls: []harness.Call{{
			ID: fmt.Sprintf("call%d", done), Tool: "faulty__echo", Args: harness.JSON{"n": done, "message": strings.Repeat("blah ", 600)},
		}}}
	})
	c := harness.Up(t, t.TempDir(), model.Env()).Client
	c.Must("POST", "/v1/sources", harness.JSON{"name": "faulty", "kind": "mcp", "command": []string{harness.Bin(t, "examples/faulty")}})
	c.Must("POST", "/v1/agents", harness.JSON{"id": "a", "max_context_tokens": 6000, "tools": []string{"faulty__echo"}})
	session := c.Session("a")
	turn := c.Turn(session, "echo ten times")
	end := c.Wait(turn)
	used, _ := end["usage"].(map[string]any)
	if end.Str("output") != "done" || used["tool_calls"] != float64(steps) || used["model_calls"] != float64(model.Calls()) {
		t.Fatalf("turn %v after %d model calls", end, model.Calls())
	}
	summaries := compactions(c, session, turn)
	if len(summaries) < 2 || len(summaries) > 6 || steps+1+len(summaries) != model.Calls() {
		t.Errorf("%d compactions in %d model calls", len(summaries), model.Calls())
	}
	for _, e := range summaries {
		if kept, _ := e.Data["kept_message_ids"].([]any); len(kept) != 1 || e.Data.Str("summary") != "much was echoed" {
			t.Errorf("compacted %v", e.Data)
		}
	}
	if n := len(list(c.Must("GET", "/v1/sessions/"+session+"/messages?page_size=1000", nil), "messages")); n != 2*steps+2 {
		t.Errorf("%d messages", n)
	}
}
