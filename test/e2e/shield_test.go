package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/windlass-dev/windlass/test/harness"
)

const shieldConfig = `
policy:
  shields:
  - {name: private, detector: pii, action: redact, stage: [input, tool]}
  - {name: falcon, detector: pattern, pattern: '(?i)falcon', stage: [input]}
  - {name: keys, detector: secrets, stage: [output]}
  - {name: cards, detector: card, action: redact, stage: [output]}
`

// TestShields is what a model, a tool and a reader get to see behind shields, through REST and SSE.
func TestShields(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var seen []string
	model := harness.NewModel(t, func(_ int, messages []any) harness.Answer {
		last, _ := messages[len(messages)-1].(map[string]any)
		text := fmt.Sprint(last["content"])
		text = text[strings.LastIndex(text, "\n")+1:] // messages that got no answer are joined
		mu.Lock()
		seen = append(seen, text)
		mu.Unlock()
		switch {
		case strings.Contains(text, "key"):
			return harness.Answer{Words: []string{"it is ", "AKIA", "IOSFODNN7EXAMPLE"}}
		case strings.Contains(text, "card"):
			return harness.Answer{Words: []string{"pay ", "with 4", "111 11", "11 1111 1", "111", " to", "day"}}
		}
		return harness.Answer{Words: []string{"fine"}}
	})
	config := filepath.Join(t.TempDir(), "windlass.yaml")
	if err := os.WriteFile(config, []byte(shieldConfig), 0o600); err != nil {
		t.Fatal(err)
	}
	c := harness.Up(t, t.TempDir(), model.Env(), "--config", config).Client
	c.Must("POST", "/v1/agents:apply",
		harness.JSON{"yaml": "kind: agent\nid: clerk\nshields: [private, falcon, keys, cards]\ntools: ['*']\nmodel: openai/model\n"})
	session := c.Session("clerk")
	ask := func(input string) (harness.JSON, []harness.Event) {
		t.Helper()
		turn := c.Turn(session, input)
		w := c.Watch("/v1/turns/" + turn + "/events")
		w.Until("the turn's end", func(e harness.Event) bool { return e.Type == "turn.completed" || e.Type == "turn.failed" })
		return c.Wait(turn), w.Events()
	}
	triggered := func(events []harness.Event) string {
		var out []string
		for _, e := range events {
			if e.Type == "shield.triggered" {
				out = append(out, fmt.Sprint(e.Data.Str("stage"), " ", e.Data.Str("shield"), " ", e.Data.Str("action"), " ", e.Data["categories"]))
			}
			if e.Type == "message.delta" && strings.Contains(fmt.Sprint(e.Data), "AK") {
				t.Errorf("a delta with what is blocked: %v", e)
			}
		}
		return strings.Join(out, ", ")
	}
	end, events := ask("I am ann@example.org")
	if end.Str("output") != "fine" || triggered(events) != "input private redact [email]" {
		t.Errorf("redacted input: %v, %s", end, triggered(events))
	}
	end, events = ask("tell me of Falcon")
	if end.Str("status") != "completed" || end.Str("stop_reason") != "content_filter" || end.Str("output") != "" ||
		triggered(events) != "input falcon block [pattern]" {
		t.Errorf("blocked input: %v, %s", end, triggered(events))
	}
	end, events = ask("what is the key")
	if end.Str("stop_reason") != "content_filter" || strings.Contains(fmt.Sprint(end, events), "IOSFODNN7") ||
		triggered(events) != "output keys block [aws_key]" {
		t.Errorf("blocked output: %v, %s", end, triggered(events))
	}
	end, events = ask("what is the card")
	var told string
	for _, e := range events {
		if e.Type == "message.delta" {
			told += e.Data.Str("text")
		}
	}
	if end.Str("output") != "pay with [redacted:card] today" || told != "" && told != end.Str("output") || // a late watcher gets no deltas
		triggered(events) != "output cards redact [card]" {
		t.Errorf("redacted output: %v, told %q, %s", end, told, triggered(events))
	}
	mu.Lock()
	if all := strings.Join(seen, "|"); all != "I am [redacted:email]|what is the key|what is the card" {
		t.Errorf("the model saw %s", all)
	}
	mu.Unlock()
	c.Must("POST", "/v1/agents", harness.JSON{"id": "lost", "shields": []string{"nope"}})
	if end := c.Wait(c.Turn(c.Session("lost"), "hi")); end.Str("status") != "failed" ||
		!strings.Contains(fmt.Sprint(end["error"]), `there is no shield "nope"`) {
		t.Errorf("an unknown shield: %v", end)
	}
}
