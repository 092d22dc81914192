package e2e

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/windlass-dev/windlass/test/harness"
)

// longText is a text of about n bytes in which each line is told from the others.
func longText(n int) string {
	var b strings.Builder
	for i := 0; b.Len() < n; i++ {
		fmt.Fprintf(&b, "line %07d of a result that a tool wrote\n", i)
	}
	return b.String()
}

// babbler answers with results of all sizes, up to one that never ends.
func babbler(t *testing.T) *toolServer {
	s := newToolServer(t, map[string]string{"tokens": "10k tokens", "mb": "1 MB", "fifty": "50 MB", "endless": "Never ends"})
	s.call = func(w http.ResponseWriter, r *http.Request, tool string) harness.JSON {
		switch tool {
		case "tokens":
			return said(longText(40<<10), false)
		case "mb":
			return said(longText(1<<20), false)
		}
		w.Header().Set("Content-Type", "application/json")
		_, err := io.WriteString(w, `{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"`)
		chunk := strings.Repeat("x", 64<<10)
		for sent := 0; err == nil && (tool == "endless" || sent < 50<<20); sent += len(chunk) {
			_, err = io.WriteString(w, chunk)
		}
		if err == nil {
			_, _ = io.WriteString(w, `"}]}}`)
		}
		return nil
	}
	return s
}

// bytesOf reads what a path serves as it is.
func bytesOf(t *testing.T, c *harness.Client, path string) (string, http.Header) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, c.Base+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := c.HTTP.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("GET %s: %d %.300s %v", path, resp.StatusCode, data, err)
	}
	return string(data), resp.Header
}

// results returns the tool results of a session by tool.
func results(c *harness.Client, session string) map[string]map[string]any {
	out := map[string]map[string]any{}
	for _, m := range list(c.Must("GET", "/v1/sessions/"+session+"/messages?page_size=1000", nil), "messages") {
		if r, ok := m["tool_result"].(map[string]any); ok {
			out[r["tool"].(string)] = r
		}
	}
	return out
}

func list(j harness.JSON, field string) []harness.JSON {
	items, _ := j[field].([]any)
	var out []harness.JSON
	for _, item := range items {
		if m, ok := item.(map[string]any); ok {
			out = append(out, m)
		}
	}
	return out
}

// Results of 10k tokens, 1 MB, 50 MB and without an end: the first is kept whole, of the second the model sees both ends and the whole is
// an artifact, the others are cut off with an error, and the bridge's memory stays bounded.
func TestResultsOfAllSizes(t *testing.T) {
	t.Parallel()
	tools := babbler(t)
	m := harness.Split(t, harness.SplitOptions{Plain: true, Env: []string{"GOMEMLIMIT=64MiB"}})
	c := m.Client
	c.Must("POST", "/v1/sources", harness.JSON{"name": "big", "kind": "mcp", "url": tools.URL + "/mcp"})
	c.Must("POST", "/v1/agents", harness.JSON{"id": "a", "tools": []string{"big__*"}, "model": "builtin/scripted"})
	session := c.Session("a")
	if end := c.Wait(c.Turn(session, "call:big__tokens {} say:warm")); end.Str("output") != "warm" {
		t.Fatalf("turn %v", end)
	}
	rss := m.Process("mcpbridge").RSS()
	most, done := make(chan int), make(chan struct{})
	go func() {
		peak, tick := rss, time.NewTicker(10*time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				peak = max(peak, m.Process("mcpbridge").RSS())
			case <-done:
				most <- peak
				return
			}
		}
	}()
	end := c.Wait(c.Turn(session, "call:big__mb {} then call:big__fifty {} then call:big__endless {} then say:done"))
	close(done)
	if grown := <-most - rss; grown > 64<<20 {
		t.Errorf("the bridge grew by %d MiB", grown>>20)
	}
	if end.Str("output") != "done" {
		t.Fatalf("turn %v", end)
	}
	got := results(c, session)
	if r := got["big__tokens"]; text(r["content"].([]any)) != longText(40<<10) || r["truncated"] == true {
		t.Errorf("10k tokens were not kept whole: %.200v", r)
	}
	for _, tool := range []string{"big__fifty", "big__endless"} {
		if r := got[tool]; r["is_error"] != true || !strings.Contains(text(r["content"].([]any)), "TOO_LARGE") {
			t.Errorf("%s: %.300v", tool, r)
		}
	}

	ids, _ := got["big__mb"]["artifact_ids"].([]any)
	if len(ids) != 1 {
		t.Fatalf("1 MB has artifacts %v", ids)
	}
	id, _ := ids[0].(string)
	whole := longText(1 << 20)
	preview := text(got["big__mb"]["content"].([]any))
	if len(preview) > 32<<10 || !strings.HasPrefix(preview, whole[:1000]) || !strings.HasSuffix(preview, whole[len(whole)-1000:]) ||
		!strings.Contains(preview, id) || !strings.Contains(preview, fmt.Sprint(len(whole))) {
		t.Errorf("preview of %d bytes: %.100q", len(preview), preview)
	}
	data, header := bytesOf(t, c, "/v1/artifacts/"+id)
	if data != whole || header.Get("Content-Type") != "text/plain; charset=utf-8" || header.Get("X-Content-Type-Options") != "nosniff" ||
		!strings.HasPrefix(header.Get("Content-Disposition"), "attachment") {
		t.Errorf("artifact of %d bytes, want %d: %v", len(data), len(whole), header)
	}
	kept := list(c.Must("GET", "/v1/sessions/"+session+"/artifacts", nil), "artifacts")
	sum := sha256.Sum256([]byte(whole))
	if len(kept) != 1 || kept[0].Str("id") != id || kept[0].Str("sha256") != hex.EncodeToString(sum[:]) {
		t.Errorf("artifacts %v", kept)
	}

	// The model of the next turn can read on, in this session and in a fork of it, and in no other.
	read := fmt.Sprintf(`call:read_artifact {"artifact_id":"%s","find":"line 0020000","length":12} then say:read`, id)
	fork := c.Must("POST", "/v1/sessions/"+session+":fork", harness.JSON{}).Str("id")
	for _, s := range []string{session, fork} {
		c.Wait(c.Turn(s, read))
		if r := results(c, s)["mesh__read_artifact"]; r["is_error"] == true || !strings.HasSuffix(text(r["content"].([]any)), "]\nline 0020000") {
			t.Errorf("read in %s: %v", s, r)
		}
	}
	other := c.Session("a")
	c.Wait(c.Turn(other, strings.Replace(read, "call:read_artifact", "call:mesh__read_artifact", 1)))
	if r := results(c, other)["mesh__read_artifact"]; r["is_error"] != true {
		t.Errorf("another session reads it: %v", r)
	}
}
