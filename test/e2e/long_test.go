package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/windlass-dev/windlass/test/harness"
)

// The workflow's history holds references only: a conversation of 200,000 tokens with 100 tool calls stays under 2 MiB.
func TestLongConversationStaysSmallInTheHistory(t *testing.T) {
	t.Parallel()
	const (
		steps, parallel = 25, 4
		size            = 800 << 10 // at four bytes a token
		most            = 2 << 20
	)
	up := harness.Up(t, t.TempDir(), nil)
	c := up.Client
	c.Must("POST", "/v1/sources", harness.JSON{"name": "faulty", "kind": "mcp", "command": []string{harness.Bin(t, "examples/faulty")}})
	c.Must("POST", "/v1/agents", harness.JSON{
		"id": "a", "tools": []string{"faulty__*"}, "model": "builtin/scripted", "limits": harness.JSON{"max_steps": steps + 1},
	})
	session := c.Session("a")
	words := "lorem ipsum dolor sit amet "
	long := strings.Repeat(words, size/2/len(words))
	for range 2 {
		c.Wait(c.Turn(session, long+"say:noted"))
	}
	var calls string
	for i := range parallel {
		calls += fmt.Sprintf(`call:faulty__echo {"n":"$n","i":%d,"message":"%s"} `, i, strings.Repeat("x", 2000))
	}
	begin := time.Now()
	turn := c.Turn(session, fmt.Sprintf("loop:%d %sthen say:done", steps, calls))
	end := c.Wait(turn)
	usage, _ := end["usage"].(map[string]any)
	tokens, _ := usage["input_tokens"].(float64)
	if end.Str("output") != "done" || usage["tool_calls"] != float64(steps*parallel) || tokens < steps*150_000 {
		t.Fatalf("turn ended %q (%s) with %v", end.Str("output"), end.Str("stop_reason"), usage)
	}
	info, _ := up.UI().Must("GET", "/api/v1/namespaces/default/workflows/"+turn, nil)["workflowExecutionInfo"].(map[string]any)
	bytes, events := number(info["historySizeBytes"]), number(info["historyLength"])
	t.Logf("%v: %d model steps, %d tool calls, %.0f input tokens; history of %d events, %d bytes",
		time.Since(begin).Round(time.Millisecond), steps+1, steps*parallel, tokens, events, bytes)
	if bytes == 0 || bytes > most {
		t.Errorf("the history has %d bytes, want at most %d", bytes, most)
	}
}

// number reads a 64-bit integer, which protobuf's JSON writes as a string.
func number(v any) int {
	switch v := v.(type) {
	case float64:
		return int(v)
	case string:
		n := 0
		for _, d := range v {
			n = 10*n + int(d-'0')
		}
		return n
	}
	return 0
}
