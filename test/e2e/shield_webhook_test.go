package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/windlass-dev/windlass/test/harness"
)

// judge is a service of the operator's that shields ask.
func judge(t *testing.T, decide func(stage, text string) harness.JSON) (url string, asked func() string) {
	t.Helper()
	var mu sync.Mutex
	var seen []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var q struct {
			Stage, User, Agent string
			Texts              []string
		}
		if err := json.NewDecoder(r.Body).Decode(&q); err != nil {
			t.Error(err)
		}
		var results []harness.JSON
		for _, text := range q.Texts {
			result := decide(q.Stage, text)
			if result == nil {
				w.WriteHeader(http.StatusServiceUnavailable)
				return
			}
			results = append(results, result)
		}
		mu.Lock()
		seen = append(seen, fmt.Sprint(r.Header.Get("Authorization"), " ", q.Stage, " ", q.User, " ", q.Agent, " ", q.Texts))
		mu.Unlock()
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(harness.JSON{"results": results})
	}))
	t.Cleanup(server.Close)
	return server.URL, func() string {
		mu.Lock()
		defer mu.Unlock()
		return strings.Join(seen, "|")
	}
}

// shielded is a mesh with shields and an agent that has all of them.
func shielded(t *testing.T, config string, shields ...string) *harness.Client {
	t.Helper()
	file := filepath.Join(t.TempDir(), "windlass.yaml")
	if err := os.WriteFile(file, []byte("policy:\n  shields:\n"+config), 0o600); err != nil {
		t.Fatal(err)
	}
	c := harness.Up(t, t.TempDir(), nil, "--config", file).Client
	c.Must("POST", "/v1/agents", harness.JSON{"id": "clerk", "shields": shields, "tools": []string{"*"}, "model": "builtin/scripted"})
	return c
}

// shieldEvents runs a turn, and returns its end and what its shields said.
func shieldEvents(t *testing.T, c *harness.Client, input string) (harness.JSON, string) {
	t.Helper()
	turn := c.Turn(c.Session("clerk"), input)
	w := c.Watch("/v1/turns/" + turn + "/events")
	w.Until("the turn's end", func(e harness.Event) bool { return e.Type == "turn.completed" || e.Type == "turn.failed" })
	var out []string
	for _, e := range w.Events() {
		if e.Type == "shield.triggered" {
			out = append(out, fmt.Sprint(e.Data.Str("stage"), " ", e.Data.Str("shield"), " ", e.Data.Str("action"), " ", e.Data["categories"], " ",
				e.Data.Str("reason"), " ", e.Data["failed_open"] == true))
		}
	}
	return c.Wait(turn), strings.Join(out, ", ")
}

// TestWebhookShields: a service of the operator's decides about texts, with a stored secret as its credential.
func TestWebhookShields(t *testing.T) {
	t.Parallel()
	url, asked := judge(t, func(stage, text string) harness.JSON {
		switch {
		case strings.Contains(text, "falcon"):
			return harness.JSON{"action": "block", "reason": "the project is secret"}
		case stage == "input" && strings.Contains(text, "name:ann"):
			return harness.JSON{"action": "redact", "text": strings.ReplaceAll(text, "name:ann", "name:X"), "categories": []string{"name"}}
		}
		return harness.JSON{"action": "allow"}
	})
	c := shielded(t, "  - {name: judge, detector: webhook, url: '"+url+"', stage: [input, output], "+
		"headers: {Authorization: '${secret:JUDGE}'}}\n", "judge")
	end, told := shieldEvents(t, c, "say:hello")
	if end.Str("status") != "failed" || !strings.Contains(fmt.Sprint(end["error"]), `shield \"judge\" could not check the input`) &&
		!strings.Contains(fmt.Sprint(end["error"]), `shield "judge" could not check the input`) ||
		!strings.Contains(fmt.Sprint(end["error"]), "shield_failed") || told != "" {
		t.Errorf("without the secret: %v, %s", end, told)
	}
	c.Must("POST", "/v1/secrets", harness.JSON{"name": "JUDGE", "value": "Bearer of-the-judge"})
	if end, told = shieldEvents(t, c, "say:name:ann"); end.Str("output") != "name:X" || told != "input judge redact [name]  false" {
		t.Errorf("redacted: %v, %s", end, told)
	}
	if end, told = shieldEvents(t, c, "say:falcon"); end.Str("stop_reason") != "content_filter" ||
		told != "input judge block [webhook] the project is secret false" {
		t.Errorf("blocked: %v, %s", end, told)
	}
	want := "Bearer of-the-judge input local clerk [say:name:ann]|Bearer of-the-judge output local clerk [name:X]|" +
		"Bearer of-the-judge input local clerk [say:falcon]"
	if asked() != want {
		t.Errorf("asked %s, want %s", asked(), want)
	}
}

// TestShieldsThatFail: a webhook that is down lets texts pass, and says so, or ends the turn with its name.
func TestShieldsThatFail(t *testing.T) {
	t.Parallel()
	url, _ := judge(t, func(string, string) harness.JSON { return nil })
	c := shielded(t, "  - {name: lax, detector: webhook, url: '"+url+"', stage: [input], on_error: open}\n"+
		"  - {name: strict, detector: webhook, url: '"+url+"', stage: [output]}\n", "lax", "strict")
	end, told := shieldEvents(t, c, "say:hello")
	if end.Str("status") != "failed" || end.Str("output") != "" || told != "input lax flag [unchecked] the webhook answered HTTP 503 true" ||
		!strings.Contains(fmt.Sprint(end["error"]), "could not check the answer: the webhook answered HTTP 503") {
		t.Errorf("%v, %s", end, told)
	}
}

// TestModelShields: a guard model judges what users say, through inference.
func TestModelShields(t *testing.T) {
	t.Parallel()
	guard := harness.NewModel(t, func(_ int, messages []any) harness.Answer {
		last, _ := messages[len(messages)-1].(map[string]any)
		switch text := fmt.Sprint(last["content"]); {
		case strings.Contains(text, "weapon"):
			return harness.Answer{Words: []string{"un", "safe\nS1,", "S9"}}
		case strings.Contains(text, "odd"):
			return harness.Answer{Words: []string{"I cannot tell"}}
		}
		return harness.Answer{Words: []string{"safe"}}
	})
	c := shielded(t, "  - {name: llama, detector: guard, model: local/llama-guard3, categories: [S9], stage: [input]}\n"+
		"inference:\n  providers: [{name: local, kind: openai, base_url: '"+guard.URL()+"', models: [llama-guard3]}]\n", "llama")
	if end, told := shieldEvents(t, c, "say:fine"); end.Str("output") != "fine" || told != "" {
		t.Errorf("safe: %v, %s", end, told)
	}
	if end, told := shieldEvents(t, c, "say:weapon"); end.Str("stop_reason") != "content_filter" || told != "input llama block [S9]  false" {
		t.Errorf("unsafe: %v, %s", end, told)
	}
	if end, told := shieldEvents(t, c, "say:odd"); told != "" ||
		!strings.Contains(fmt.Sprint(end["error"]), "answered neither safe nor unsafe") {
		t.Errorf("no answer: %v, %s", end, told)
	}
}
