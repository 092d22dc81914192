package e2e

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/windlass-dev/windlass/test/harness"
)

const resultShieldConfig = `
policy:
  shields:
  - {name: private, detector: pii, action: redact, stage: [result]}
  - {name: keys, detector: secrets, stage: [result]}
`

// TestShieldsOfResults: what a tool answers is checked before the model, a reader or an artifact has it. Each call carries its
// key as a header.
func TestShieldsOfResults(t *testing.T) {
	t.Parallel()
	tools := newToolServer(t, map[string]string{"short": "A line", "long": "1 MB", "key": "A key"})
	var mu sync.Mutex
	keys := map[string]string{}
	tools.call = func(_ http.ResponseWriter, r *http.Request, tool string) harness.JSON {
		mu.Lock()
		keys[tool] = r.Header.Get("Idempotency-Key")
		mu.Unlock()
		switch tool {
		case "short":
			return said("write to ann@example.org", false)
		case "long":
			half := longText(512 << 10)
			return said(half+"ann@example.org\n"+half, false)
		}
		return said("it is AKIA"+"IOSFODNN7EXAMPLE", false)
	}
	config := filepath.Join(t.TempDir(), "windlass.yaml")
	if err := os.WriteFile(config, []byte(resultShieldConfig), 0o600); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	c := harness.Up(t, dir, nil, "--config", config).Client
	c.Must("POST", "/v1/sources", harness.JSON{"name": "x", "kind": "mcp", "url": tools.URL + "/mcp"})
	c.Must("POST", "/v1/agents", harness.JSON{
		"id": "a", "shields": []string{"private", "keys"}, "tools": []string{"x__*"},
		"model": "builtin/scripted",
	})
	session := c.Session("a")
	turn := c.Turn(session, "call:x__short {} then call:x__long {} then call:x__key {} then say:done")
	w := c.Watch("/v1/turns/" + turn + "/events")
	w.Until("the turn's end", func(e harness.Event) bool { return e.Type == "turn.completed" || e.Type == "turn.failed" })
	if end := c.Wait(turn); end.Str("output") != "done" {
		t.Fatalf("turn %v", end)
	}
	var triggered []string
	for _, e := range w.Events() {
		if e.Type == "shield.triggered" {
			triggered = append(triggered, fmt.Sprint(e.Data.Str("stage"), " ", e.Data.Str("shield"), " ", e.Data["categories"]))
		}
	}
	if got := strings.Join(triggered, ", "); got != "result private [email], result private [email], result keys [aws_key]" {
		t.Errorf("triggered %s", got)
	}
	if all := fmt.Sprint(w.Events()); strings.Contains(all, "ann@") || strings.Contains(all, "IOSFODNN7") {
		t.Error("what was found is in the stream")
	}
	got := results(c, session)
	if text := text(got["x__short"]["content"].([]any)); text != "write to [redacted:email]" {
		t.Errorf("the model was told %s", text)
	}
	if r := got["x__key"]; r["is_error"] != true ||
		!strings.Contains(fmt.Sprint(r["content"]), `shield \"keys\" blocks it`) &&
			!strings.Contains(fmt.Sprint(r["content"]), `shield "keys" blocks it`) {
		t.Errorf("the model was told %v", r)
	}
	ids, _ := got["x__long"]["artifact_ids"].([]any)
	if len(ids) != 1 {
		t.Fatalf("1 MB has artifacts %v", ids)
	}
	whole, _ := bytesOf(t, c, fmt.Sprint("/v1/artifacts/", ids[0]))
	if strings.Contains(whole, "ann@") || !strings.Contains(whole, "[redacted:email]") {
		t.Error("the artifact has what was found")
	}
	mu.Lock()
	defer mu.Unlock()
	for tool, key := range keys {
		if row := execution(t, c, turn, "x__"+tool); key == "" || row.Str("key") != key {
			t.Errorf("%s got the header %q, the ledger has %v", tool, key, row)
		}
	}
	ledgerIsSealed(t, c, dir, turn)
}

// ledgerIsSealed looks for what shields found where the registry keeps it.
func ledgerIsSealed(t *testing.T, c *harness.Client, dir, turn string) {
	t.Helper()
	shown := fmt.Sprint(c.Must("GET", "/v1/analytics/recent", nil))
	for _, tool := range []string{"x__short", "x__key"} {
		shown += fmt.Sprint(c.Must("GET", "/v1/executions/"+execution(t, c, turn, tool).Str("id"), nil))
	}
	if strings.Contains(shown, "ann@") || strings.Contains(shown, "IOSFODNN7") || !strings.Contains(shown, "x__key") {
		t.Errorf("shown of the executions: %s", shown)
	}
	files, err := filepath.Glob(filepath.Join(dir, "*registry.db*"))
	if more, _ := filepath.Glob(filepath.Join(dir, "*", "registry.db*")); err == nil {
		files = append(files, more...)
	}
	if len(files) == 0 {
		t.Fatalf("the registry's files in %s: %v, %v", dir, files, err)
	}
	for _, name := range files {
		content, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(content), "ann@example.org") || strings.Contains(string(content), "IOSFODNN7") {
			t.Errorf("%s has what was found", filepath.Base(name))
		}
	}
}
