// Package browser drives the console in Chromium, against `windlass up`.
package browser

import (
	"bufio"
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/windlass-dev/windlass/libs/testnpm"
	"github.com/windlass-dev/windlass/test/harness"
)

// agents are what the scenarios talk to.
func agents(c *harness.Client) {
	for _, a := range []harness.JSON{
		{
			"id": "careful", "tools": []string{"*", "mesh__ask_user"}, "model": "builtin/scripted", "on_unknown_outcome": "park",
			"approvals": []harness.JSON{{
				"name": "careful", "tools": []string{"mesh__uuid"}, "reason": "Somebody should look.", "allow_requester": true,
			}},
		},
		{"id": "worker", "description": "Computes sums.", "tools": []string{"calculator__*"}, "model": "builtin/scripted"},
		{"id": "boss", "agents": []string{"worker"}, "model": "builtin/scripted"},
	} {
		c.Must("POST", "/v1/agents", a)
	}
}

// scenario returns the command that runs a script of testdata in Chromium.
func scenario(t *testing.T, name, url string) *exec.Cmd {
	t.Helper()
	node, chromium, packages := testnpm.Browser(t)
	script, err := filepath.Abs(filepath.Join("testdata", name))
	harness.Must(t, err)
	cmd := exec.CommandContext(t.Context(), node, script)
	cmd.Env = append(os.Environ(), "WINDLASS_URL="+url, "CHROMIUM="+chromium, "PACKAGES="+packages)
	return cmd
}

func TestConsole(t *testing.T) {
	t.Parallel()
	testnpm.Browser(t)
	for _, name := range []string{"chat.mjs", "waits.mjs", "turn.mjs", "button.mjs", "temporal.mjs"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			up := harness.Up(t, t.TempDir(), nil)
			faulty := filepath.Join(filepath.Dir(harness.Bin(t, "windlass")), "examples", "faulty")
			up.Client.Must("POST", "/v1/sources", harness.JSON{"name": "shaky", "kind": "mcp", "command": []string{faulty}})
			agents(up.Client)
			cmd := scenario(t, name, up.Client.Base)
			cmd.Env = append(cmd.Env, "TEMPORAL_UI="+up.Ready["temporal_ui"].(string))
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}

// TestThePageSurvivesAKill kills everything behind an open page in the middle of an answer.
func TestThePageSurvivesAKill(t *testing.T) {
	t.Parallel()
	testnpm.Browser(t)
	dir := t.TempDir()
	up := harness.Up(t, dir, nil)
	agents(up.Client)
	cmd := scenario(t, "killed.mjs", up.Client.Base)
	out, err := cmd.StdoutPipe()
	harness.Must(t, err)
	var problems bytes.Buffer
	cmd.Stderr = &problems
	harness.Must(t, cmd.Start())
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		switch lines.Text() {
		case "half":
			up.Kill()
		case "noticed":
			up = harness.Up(t, dir, nil, "--http-addr", strings.TrimPrefix(up.Client.Base, "http://"))
		}
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("%v\n%s", err, problems.String())
	}
}
