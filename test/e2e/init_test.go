package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/windlass-dev/windlass/test/harness"
)

// TestAnAgentOfOnesOwn follows "windlass init": the folder's test passes, and a change of its files takes effect at once.
func TestAnAgentOfOnesOwn(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip("the tool server needs python3")
	}
	windlass, server := harness.Bin(t, "windlass"), shared().Client.Base
	dir := filepath.Join(t.TempDir(), "Counter")
	made, hint := run(t, 0, "", windlass, "init", dir)
	if strings.Count(made, "\n") != 3 || !strings.Contains(hint, "apply --watch "+dir) {
		t.Errorf("made:\n%s%s", made, hint)
	}
	if _, again := run(t, 2, "", windlass, "init", dir); !strings.Contains(again, "is there already") {
		t.Errorf("made again: %s", again)
	}
	watch := harness.Terminal(t, t.TempDir(), server, "apply", "--watch", dir)
	watch.Expect("source/counter created")
	watch.Expect("agent/counter created")
	test := func() string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), filepath.Join(dir, "test.sh"))
		cmd.Env = append(os.Environ(), "WINDLASS="+windlass, "WINDLASS_SERVER="+server, "HOME="+t.TempDir())
		out, _ := cmd.CombinedOutput()
		return string(out)
	}
	if got := test(); got != "ok   tool counter__count\nok   agent counter\n" {
		t.Errorf("the folder's test says:\n%s", got)
	}
	edit := func(name, old, now string) {
		t.Helper()
		path := filepath.Join(dir, name)
		text, err := os.ReadFile(path)
		harness.Must(t, err)
		harness.Must(t, os.WriteFile(path, []byte(strings.ReplaceAll(string(text), old, now)), 0o600))
	}
	edit("tools.py", " words,", " tokens,")
	watch.Expect("source/counter started again, tools: 1")
	if got := test(); !strings.Contains(got, `FAIL tool counter__count: want "6 words, 18 characters", got: 6 tokens, 18 characters`) {
		t.Errorf("after a change the folder's test says:\n%s", got)
	}
	edit("tools.py", "def count", "def cuont")
	watch.Expect("source/counter cannot be started")
	edit("windlass.yaml", "limits: {", "limts: {")
	watch.Expect(`limts: is no field of agent: did you mean "limits"?`)
	edit("windlass.yaml", "limts: {max_steps: 10", "limits: {max_steps: 9")
	watch.Expect("agent/counter updated")
	watch.Enter("\x03")
	if code := watch.Ended(); code != 0 {
		t.Errorf("after Ctrl-C the exit code is %d", code)
	}
}

// TestTop watches a turn begin to wait and end.
func TestTop(t *testing.T) {
	t.Parallel()
	up := harness.Up(t, t.TempDir(), nil)
	up.Client.Must("POST", "/v1/agents", harness.JSON{
		"id": "careful", "tools": []string{"mesh__*"}, "model": "builtin/scripted",
		"approvals": []harness.JSON{{"name": "all", "tools": []string{"mesh__*"}, "reason": "look", "allow_requester": true}},
	})
	up.Client.Must("POST", "/v1/budgets", harness.JSON{"scope": "agent", "target": "careful", "max_tool_calls": 3})
	top := harness.Terminal(t, t.TempDir(), up.Client.Base, "top", "--interval", "100ms")
	top.Expect("0 running, 0 waiting, 0 queued")
	top.Expect("agent careful")
	turn := up.Client.Turn(up.Client.Session("careful"), "call:mesh__uuid {} then say:done")
	top.Expect("0 running, 1 waiting, 0 queued")
	top.Expect("WAITING FOR PEOPLE: 1")
	waiting := up.Client.Must("GET", "/v1/approvals?status=pending", nil)["approvals"].([]any)[0].(map[string]any)
	up.Client.Must("POST", "/v1/approvals/"+waiting["id"].(string)+":decide", harness.JSON{"decision": "approve"})
	up.Client.Wait(turn)
	top.Expect("0 running, 0 waiting, 0 queued")
	top.Expect("1 of 3")
	top.Enter("\x03")
	if code := top.Ended(); code != 0 {
		t.Errorf("after Ctrl-C the exit code is %d", code)
	}
	once, _ := run(t, 0, "", harness.Bin(t, "windlass"), "top", "-o", "jsonpath={.budgets[0].used_tool_calls}", "--server", up.Client.Base)
	if once != "1\n" {
		t.Errorf("-o jsonpath prints %q", once)
	}
}
