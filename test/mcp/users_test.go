package mcp

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/windlass-dev/windlass/libs/testnpm"
	"github.com/windlass-dev/windlass/test/harness"
)

// TestTwoUsersAtOnce has clients of two users, with the TypeScript SDK of MCP, in a mesh of separate processes. Each sees and calls what
// policy allows its user, and nothing of the other's.
func TestTwoUsersAtOnce(t *testing.T) {
	suite, _, sdk := testnpm.Conformance(t)
	m := harness.Split(t, harness.SplitOptions{Config: harness.JSON{"policy": harness.JSON{"rules": []harness.JSON{
		{"name": "local", "subjects": []string{"local"}, "permissions": []string{"*"}, "tools": []string{"*"}},
		{"name": "alice", "subjects": []string{"alice"}, "permissions": []string{"registry.*"}, "tools": []string{"calculator__*"}},
		{"name": "bob", "subjects": []string{"bob"}, "permissions": []string{"registry.*"}, "tools": []string{"faulty__echo"}},
	}}}})
	for _, name := range []string{"calculator", "faulty"} {
		m.Client.Must("POST", "/v1/sources", harness.JSON{
			"name": name, "kind": "mcp", "command": []string{harness.Bin(t, "examples/"+name)},
		})
	}
	dir := t.TempDir()
	source, err := os.ReadFile(filepath.Join("testdata", "users.mjs"))
	harness.Must(t, err)
	harness.Must(t, os.WriteFile(filepath.Join(dir, "users.mjs"), source, 0o600))
	harness.Must(t, os.Symlink(filepath.Join(sdk, "node_modules"), filepath.Join(dir, "node_modules")))
	cmd := exec.CommandContext(t.Context(), suite[0], filepath.Join(dir, "users.mjs"), m.MCPAs("alice")+"/mcp", m.MCPAs("bob")+"/mcp")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s%s", err, out, &stderr)
	}
	var got struct {
		All []struct {
			Tools   []string
			Results map[string]string
		}
		Stolen string
	}
	if err := json.Unmarshal(out, &got); err != nil || len(got.All) != 4 {
		t.Fatalf("%v: %s", err, out)
	}
	for i, c := range got.All {
		mine, other, answer := "calculator__evaluate", "faulty__echo", "42"
		if i >= 2 {
			mine, other, answer = other, mine, "hello"
		}
		if !slices.Contains(c.Tools, mine) || slices.Contains(c.Tools, other) || i >= 2 && len(c.Tools) != 1 {
			t.Errorf("client %d sees %v", i, c.Tools)
		}
		if !strings.Contains(c.Results[mine], answer) || c.Results[other] != "code -32602" {
			t.Errorf("client %d: %v", i, c.Results)
		}
	}
	if strings.Contains(got.Stolen, "calculator") {
		t.Errorf("with the session of alice, bob sees %s", got.Stolen)
	}
}
