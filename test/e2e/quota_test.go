package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/windlass-dev/windlass/libs/testpoll"
	"github.com/windlass-dev/windlass/test/harness"
)

// answerOf makes a call and returns its status, headers and body.
func answerOf(t *testing.T, c *harness.Client, method, path string, body any) (int, http.Header, harness.JSON) {
	t.Helper()
	raw, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(t.Context(), method, c.Base+path, bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	resp, err := c.HTTP.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	if raw, err = io.ReadAll(resp.Body); err != nil {
		t.Fatal(err)
	}
	_, data, events := strings.Cut(string(raw), "data: ")
	if events {
		raw = []byte(data)
	}
	answer := harness.JSON{}
	if err := json.NewDecoder(bytes.NewReader(raw)).Decode(&answer); err != nil {
		t.Fatalf("%s %s: status %d: %s", method, path, resp.StatusCode, raw)
	}
	return resp.StatusCode, resp.Header, answer
}

// overQuota makes a call and checks that a quota refuses it as HTTP clients expect.
func overQuota(t *testing.T, c *harness.Client, method, path string, body any, text string) {
	t.Helper()
	status, header, answer := answerOf(t, c, method, path, body)
	wait, err := strconv.Atoi(header.Get("Retry-After"))
	if status != http.StatusTooManyRequests || err != nil || wait < 1 || answer.Str("code") != "quota_exceeded" ||
		!strings.Contains(answer.Str("detail"), text) || answer.Str("todo") == "" {
		t.Errorf("%s %s: status %d, Retry-After %q: %v; want %q", method, path, status, header.Get("Retry-After"), answer, text)
	}
}

// used returns what is used of a limit.
func used(c *harness.Client, scope, limit string) string {
	for _, u := range list(c.Must("GET", "/v1/quotas:usage", nil), "uses") {
		if u.Str("scope") == scope && u.Str("limit") == limit {
			return u.Str("used")
		}
	}
	return "no limit"
}

// TestS22QuotasAreEnforced sets each limit, goes beyond it, and reads of it in the API, in a turn, over MCP and in the audit trail.
func TestS22QuotasAreEnforced(t *testing.T) {
	t.Parallel()
	up := harness.Up(t, t.TempDir(), nil)
	c := up.Client
	c.Must("POST", "/v1/agents", harness.JSON{"id": "helper", "model": "builtin/scripted", "tools": []string{"mesh__*"}})

	c.Must("PATCH", "/v1/quotas/users", harness.JSON{"concurrent_turns": "1"})
	running := c.Turn(c.Session("helper"), "slow:60000 say:one two")
	another := c.Session("helper")
	overQuota(t, c, "POST", "/v1/sessions/"+another+"/turns", harness.JSON{"input": "say:hello"}, "quota of 1 concurrent turns")
	overQuota(t, c, "POST", "/v1/chat", harness.JSON{"agent_id": "helper", "message": "say:hello"}, "quota of 1 concurrent turns")
	if n := used(c, "user", "concurrent_turns"); n != "1" {
		t.Errorf("%s turns are counted", n)
	}
	c.Must("POST", "/v1/turns/"+running+":cancel", harness.JSON{})
	c.Wait(running)
	if end := c.Wait(c.Turn(another, "say:hello")); end.Str("status") != "completed" {
		t.Errorf("after the end of the other: %v", end)
	}

	c.Must("PATCH", "/v1/quotas/tenant", harness.JSON{"tool_calls_per_day": "2"})
	for range 2 {
		c.Must("POST", "/v1/tools/mesh__uuid:invoke", harness.JSON{})
	}
	overQuota(t, c, "POST", "/v1/tools/mesh__uuid:invoke", harness.JSON{}, "quota of 2 tool calls per day")
	_, _, answer := answerOf(t, c, "POST", "/mcp", harness.JSON{
		"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": harness.JSON{"name": "mesh__uuid", "arguments": harness.JSON{}},
	})
	if fieldOf(answer, "error", "data", "code") != "quota_exceeded" || fieldOf(answer, "error", "data", "retry_after_ms") == "<nil>" {
		t.Errorf("over MCP: %v", answer)
	}
	turn := c.Turn(another, "call:mesh__uuid {} then say:done")
	end := c.Wait(turn)
	if call := told(t, c, turn, "tool_call.completed"); end.Str("status") != "completed" || call.Str("code") != "quota_exceeded" {
		t.Errorf("in a turn: %v, %v", end, call)
	}

	c.Must("PATCH", "/v1/quotas/users", harness.JSON{"concurrent_turns": "0", "tokens_per_day": "1500"})
	end = c.Wait(c.Turn(another, "slow:1 tokens:5000"))
	if fieldOf(end, "limit_reached", "code") != "quota_exceeded" || fieldOf(end, "limit_reached", "scope") != "user_quota" ||
		!strings.Contains(fieldOf(end, "limit_reached", "message"), "1500 tokens per day") {
		t.Errorf("the turn that used the tokens up: %v", end["limit_reached"])
	}
	c.Must("PATCH", "/v1/quotas/users", harness.JSON{"tokens_per_day": "1"})
	overQuota(t, c, "POST", "/v1/sessions/"+another+"/turns", harness.JSON{"input": "say:hello"}, "quota of 1 tokens per day")
	c.Must("DELETE", "/v1/quotas/users", nil)
	if end := c.Wait(c.Turn(another, "say:again")); end.Str("status") != "completed" {
		t.Errorf("without the limit: %v", end)
	}

	c.Must("PATCH", "/v1/quotas/user:local", harness.JSON{"requests_per_minute": "3"})
	testpoll.Until(t, "the limit on requests applies", func() bool {
		status, header, answer := answerOf(t, c, "GET", "/v1/agents", nil)
		wait, _ := strconv.Atoi(header.Get("Retry-After"))
		return status == http.StatusTooManyRequests && wait >= 1 && wait <= 60 &&
			strings.Contains(answer.Str("detail"), "the user's quota of 3 requests per minute is used up")
	})
}

// TestS22UseIsKeptOverCrashes kills the process while a turn has reserved tokens and a tool call is under way. Nothing is counted twice,
// and no reservation is left.
func TestS22UseIsKeptOverCrashes(t *testing.T) {
	t.Parallel()
	stuck, free := make(chan struct{}, 10), make(chan struct{})
	server := newToolServer(t, map[string]string{"look": ""})
	server.call = func(_ http.ResponseWriter, r *http.Request, _ string) harness.JSON {
		stuck <- struct{}{}
		select {
		case <-free:
		case <-r.Context().Done():
		}
		return said("seen", false)
	}
	dir := t.TempDir()
	up := harness.Up(t, dir, nil)
	c := up.Client
	c.Must("POST", "/v1/sources", harness.JSON{
		"name": "search", "kind": "mcp", "url": server.URL, "effects": harness.JSON{"look": "read"},
	})
	c.Must("POST", "/v1/agents", harness.JSON{"id": "finder", "model": "builtin/scripted", "tools": []string{"search__*"}})
	c.Must("PATCH", "/v1/quotas/tenant", harness.JSON{
		"tokens_per_day": "1000000", "tool_calls_per_day": "100", "concurrent_turns": "1",
	})
	session := c.Session("finder")
	turn := c.Turn(session, "call:search__look {} then say:done")
	<-stuck
	up.Kill()
	close(free)
	up = harness.Up(t, dir, nil)
	c = up.Client
	end := c.Wait(turn)
	usage, _ := end["usage"].(map[string]any)
	tokens := number(usage["input_tokens"]) + number(usage["output_tokens"])
	if end.Str("status") != "completed" || tokens == 0 {
		t.Fatalf("the turn: %v", end)
	}
	if got := used(c, "tenant", "tokens_per_day"); got != fmt.Sprint(tokens) {
		t.Errorf("%s tokens are counted, the turn used %d", got, tokens)
	}
	if got := used(c, "tenant", "tool_calls_per_day"); got != "1" {
		t.Errorf("%s tool calls are counted, the turn made one", got)
	}
	if got := used(c, "tenant", "concurrent_turns"); got != "0" {
		t.Errorf("%s turns are counted", got)
	}
	if end := c.Wait(c.Turn(session, "say:more")); end.Str("status") != "completed" {
		t.Errorf("the next turn: %v", end)
	}
}
