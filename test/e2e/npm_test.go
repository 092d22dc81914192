package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/windlass-dev/windlass/libs/testnpm"
	"github.com/windlass-dev/windlass/test/harness"
)

// source adds a tool server with one call, and an agent that has its tools.
func source(t *testing.T, c *harness.Client, name string, endpoint harness.JSON) harness.JSON {
	t.Helper()
	endpoint["name"], endpoint["kind"] = name, "mcp"
	src := c.Must("POST", "/v1/sources", endpoint)
	if src.Str("state") != "ready" {
		t.Fatalf("source = %v", src)
	}
	c.Must("POST", "/v1/agents", harness.JSON{"id": name, "model": "builtin/scripted", "tools": []string{name + "__*"}})
	return src
}

func TestServerEverythingInATurn(t *testing.T) {
	t.Parallel()
	for name, endpoint := range map[string]func(*testing.T) harness.JSON{
		"everything-stdio": func(t *testing.T) harness.JSON {
			return harness.JSON{"command": append(testnpm.Program(t, "server-everything"), "stdio")}
		},
		"everything-http": func(t *testing.T) harness.JSON {
			address := freeAddress(t)
			testnpm.Everything(t, "streamableHttp", address)
			return harness.JSON{"url": "http://" + address + "/mcp"}
		},
		"everything-sse": func(t *testing.T) harness.JSON {
			address := freeAddress(t)
			testnpm.Everything(t, "sse", address)
			return harness.JSON{"url": "http://" + address + "/sse"}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := client(t)
			src := source(t, c, name, endpoint(t))
			if src["tool_count"].(float64) < 8 || src.Str("protocol_version") != "2025-11-25" {
				t.Errorf("source = %v", src)
			}
			turn := c.Turn(c.Session(name),
				`call:echo {"message":"hello from a turn"} call:get-sum {"a":20,"b":22} then call:trigger-long-running-operation `+
					`{"duration":0.2,"steps":2}`)
			events := c.Watch("/v1/turns/" + turn + "/events").End()
			harness.CheckStream(t, events)
			got := c.Wait(turn)
			used, _ := got["tools_used"].([]any)
			for _, tool := range []string{"echo", "get-sum", "trigger-long-running-operation"} {
				if !slices.Contains(used, any(name+"__"+tool)) {
					t.Errorf("%s was not called: %v", tool, used)
				}
			}
			for _, want := range []string{"hello from a turn", "42"} {
				if !strings.Contains(got.Str("output"), want) {
					t.Errorf("the answer %q has no %q", got.Str("output"), want)
				}
			}
			progress := 0
			for _, e := range events {
				if e.Type == "tool_call.progress" {
					progress++
				}
				if e.Type == "tool_call.completed" {
					if result, _ := e.Data["result"].(map[string]any); result["is_error"] == true {
						t.Errorf("a tool said no: %v", e.Data)
					}
				}
			}
			if progress == 0 {
				t.Error("no progress of the long operation was seen")
			}
		})
	}
}

func TestServerFilesystemInATurn(t *testing.T) {
	t.Parallel()
	c := client(t)
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	src := source(t, c, "files", harness.JSON{"command": append(testnpm.Program(t, "server-filesystem"), dir)})
	if src["tool_count"].(float64) < 5 {
		t.Errorf("source = %v", src)
	}
	for tool, effect := range map[string]string{"read_text_file": "read", "list_directory": "read"} {
		if got := c.Must("GET", "/v1/tools/files__"+tool, nil).Str("effect"); got != effect {
			t.Errorf("%s is %q, want %q as the server says", tool, got, effect)
		}
	}
	file := filepath.Join(dir, "note.txt")
	args := func(v harness.JSON) string {
		raw, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return string(raw)
	}
	got := c.Wait(c.Turn(c.Session("files"), fmt.Sprintf("call:write_file %s then call:read_text_file %s",
		args(harness.JSON{"path": file, "content": "written in a turn"}), args(harness.JSON{"path": file}))))
	if got.Str("status") != "completed" || !strings.Contains(got.Str("output"), "written in a turn") {
		t.Errorf("turn = %v", got)
	}
	if raw, err := os.ReadFile(file); err != nil || string(raw) != "written in a turn" {
		t.Errorf("the file holds %q, %v", raw, err)
	}
	outside := invoke(c, "files__read_text_file", harness.JSON{"path": "/etc/passwd"})
	if outside["is_error"] != true {
		t.Errorf("a file outside of the folder: %v", outside)
	}
}
