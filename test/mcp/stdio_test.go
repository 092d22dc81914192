package mcp

import (
	"bufio"
	"encoding/json"
	"io"
	"os/exec"
	"strings"
	"testing"

	"github.com/windlass-dev/windlass/test/harness"
)

// testStdio has a client that starts `windlass mcp`, as desktop clients do.
func testStdio(t *testing.T, up *harness.Embedded) {
	cmd := exec.CommandContext(t.Context(), harness.Bin(t, "windlass"), "mcp", "--server", up.Client.Base)
	cmd.Env = []string{"HOME=" + t.TempDir(), harness.RaceOptions}
	in, err := cmd.StdinPipe()
	harness.Must(t, err)
	out, err := cmd.StdoutPipe()
	harness.Must(t, err)
	harness.Must(t, cmd.Start())
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 1<<20)
	send := func(m any) {
		t.Helper()
		text, err := json.Marshal(m)
		harness.Must(t, err)
		_, err = in.Write(append(text, '\n'))
		harness.Must(t, err)
	}
	// until returns the first message with the given id or method, and all before it.
	until := func(id any, method string) (harness.JSON, []harness.JSON) {
		t.Helper()
		var before []harness.JSON
		for lines.Scan() {
			var m harness.JSON
			harness.Must(t, json.Unmarshal(lines.Bytes(), &m))
			if method != "" && m["method"] == method || method == "" && m["id"] == id && m["method"] == nil {
				return m, before
			}
			before = append(before, m)
		}
		t.Fatalf("the program ended before %v %s: %v", id, method, before)
		return nil, nil
	}
	request := func(id int, method string, params harness.JSON) {
		send(harness.JSON{"jsonrpc": "2.0", "id": id, "method": method, "params": params})
	}
	request(1, "server/discover", nil)
	if m, _ := until(1.0, ""); m["error"] == nil {
		t.Errorf("discover = %v", m)
	}
	request(2, "initialize", harness.JSON{"protocolVersion": oldest, "capabilities": harness.JSON{"elicitation": harness.JSON{}}})
	until(2.0, "")
	send(harness.JSON{"jsonrpc": "2.0", "method": "notifications/initialized"})
	request(3, "tools/call", harness.JSON{
		"name": "legacy__test_tool_with_progress", "arguments": harness.JSON{}, "_meta": harness.JSON{"progressToken": "p"},
	})
	if _, before := until(3.0, ""); len(before) == 0 || before[0]["method"] != "notifications/progress" {
		t.Errorf("before the result: %v", before)
	}
	request(4, "tools/call", harness.JSON{"name": "mesh__ask_user", "arguments": harness.JSON{"question": "why?"}})
	asked, _ := until(nil, "elicitation/create")
	send(harness.JSON{"jsonrpc": "2.0", "id": asked["id"], "result": harness.JSON{
		"action": "accept", "content": harness.JSON{"answer": "because"},
	}})
	if m, _ := until(4.0, ""); !strings.Contains(textOf(m["result"].(map[string]any)), "because") {
		t.Errorf("answered = %v", m)
	}
	if _, err := io.WriteString(in, "nothing\n"); err != nil {
		t.Fatal(err)
	}
	if m, _ := until(nil, ""); m["error"] == nil {
		t.Errorf("no JSON: %v", m)
	}
	harness.Must(t, in.Close())
	harness.Must(t, cmd.Wait())
}
