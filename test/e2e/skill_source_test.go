package e2e

import (
	"archive/tar"
	"bytes"
	"encoding/base64"
	"fmt"
	"strings"
	"testing"

	"github.com/windlass-dev/windlass/test/harness"
)

// skills returns an archive with a skill that can be loaded, and one that needs code.
func skills(t *testing.T) string {
	t.Helper()
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for name, text := range map[string]string{
		"notes/SKILL.md":           "---\nname: notes\ndescription: Writes release notes.\n---\nRead references/tone.md first.\n",
		"notes/references/tone.md": "Be short.\n",
		"forms/SKILL.md":           "---\nname: forms\ndescription: Fills forms.\nallowed-tools: Bash\n---\nRun it.\n",
	} {
		if err := w.WriteHeader(&tar.Header{Name: name, Typeflag: tar.TypeReg, Mode: 0o644, Size: int64(len(text))}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return base64.StdEncoding.EncodeToString(out.Bytes())
}

// TestATurnLoadsASkill: the scripted model calls a skill and a file of it, which an MCP client reads as resources. One that needs code is
// refused, and a caller without a policy for it finds nothing.
func TestATurnLoadsASkill(t *testing.T) {
	t.Parallel()
	c := harness.Up(t, t.TempDir(), nil).Client
	source := c.Must("POST", "/v1/sources", harness.JSON{"name": "handbook", "kind": "skills", "archive": skills(t)})
	if source.Str("state") != "ready" || fmt.Sprint(source["tool_count"]) != "2" ||
		!strings.Contains(fmt.Sprint(source["warnings"]), "needs code") {
		t.Fatalf("source = %v", source)
	}
	c.Must("POST", "/v1/agents", harness.JSON{"id": "editor", "model": "builtin/scripted", "tools": []string{"handbook__*"}})
	for call, want := range map[string]string{
		`call:handbook__notes {}`:                            "Read references/tone.md first.",
		`call:handbook__notes {"file":"references/tone.md"}`: "Be short.",
		`call:handbook__notes {"file":"../forms/SKILL.md"}`:  "has no file",
		`call:handbook__forms {}`:                            "needs to run code (allowed-tools has Bash)",
	} {
		if end := c.Wait(c.Turn(c.Session("editor"), call)); end.Str("status") != "completed" || !strings.Contains(end.Str("output"), want) {
			t.Errorf("%s: %v", call, end)
		}
	}
	rpc := func(method, uri string) string {
		t.Helper()
		return fmt.Sprint(c.Must("POST", "/mcp", harness.JSON{"jsonrpc": "2.0", "id": 1, "method": method, "params": harness.JSON{"uri": uri}}))
	}
	listed := rpc("resources/list", "")
	for _, name := range []string{"notes", "forms"} {
		if !strings.Contains(listed, "skill://handbook/"+name+"/SKILL.md") {
			t.Errorf("resources: %s", listed)
		}
	}
	for uri, want := range map[string]string{
		"skill://handbook/notes/references/tone.md": "Be short.", "skill://handbook/forms/SKILL.md": "needs to run code",
		"skill://handbook/notes/nothing": "has no file", "skill://calculator/evaluate/SKILL.md": "there is no resource",
	} {
		if got := rpc("resources/read", uri); !strings.Contains(got, want) {
			t.Errorf("%s: %s", uri, got)
		}
	}
}
