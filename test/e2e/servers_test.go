package e2e

import (
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/windlass-dev/windlass/test/harness"
)

// exampleServers are the example tool servers as processes over HTTP, in the order in which the test starts them.
var exampleServers = []exampleServer{
	{name: "calculator", tools: 3},
	{name: "notes", tools: 4, exclude: []string{"create", "delete"}}, // this mesh only reads notes
	{name: "websearch", tools: 3},
	{name: "summariser", tools: 3},
}

type exampleServer struct {
	name    string
	tools   int
	exclude []string
}

// start starts the program on an address, "127.0.0.1:0" for any.
func (e exampleServer) start(t *testing.T, up *harness.Embedded, addr string) *harness.Process {
	t.Helper()
	args := []string{"--http", addr}
	switch e.name {
	case "notes":
		args = append(args, "--dir", t.TempDir())
	case "summariser":
		args = append(args, "--dir", t.TempDir(), "--mesh", up.Client.Base)
	}
	return harness.Start(t, e.name, nil, harness.Bin(t, "examples/"+e.name), args...)
}

// TestToolsGrowWithoutARestart starts and stops each example tool server while the mesh runs: 10 tools of three servers become 13 of four
// and 10 again; the tools of the others stay.
func TestToolsGrowWithoutARestart(t *testing.T) {
	t.Parallel()
	model := harness.NewModel(t, func(int, []any) harness.Answer { return harness.Answer{Words: []string{"Pears ", "ripen."}} })
	up := harness.Up(t, t.TempDir(), model.Env())
	c := up.Client
	for _, starter := range []string{"calculator", "notes"} {
		c.Must("DELETE", "/v1/sources/"+starter, nil)
	}
	total := 0
	processes := map[string]*harness.Process{}
	for _, e := range exampleServers {
		processes[e.name] = e.start(t, up, "127.0.0.1:0")
		c.Must("POST", "/v1/sources", harness.JSON{
			"name": e.name, "kind": "mcp", "url": processes[e.name].Ready["url"], "exclude": e.exclude,
		})
		total += e.tools
		usable(t, c, total)
	}
	if total != 13 {
		t.Fatalf("the servers have %d tools", total)
	}
	c.Must("POST", "/v1/agents", harness.JSON{"id": "finder", "model": "builtin/scripted", "tools": []string{"*__*"}})
	works := func(but string) {
		t.Helper()
		for _, e := range exampleServers {
			if e.name == but {
				continue
			}
			health := invoke(c, e.name+"__health_check", harness.JSON{})
			if !strings.Contains(text(health["content"].([]any)), e.name+" 0.1.0 is ok") {
				t.Errorf("health of %s: %v", e.name, health)
			}
		}
	}
	works("")
	got := c.Wait(c.Turn(c.Session("finder"), `call:search {"query":"anchor"} then call:summarise {"text":"Pears ripen. It rains."}`))
	if got.Str("status") != "completed" || !strings.Contains(got.Str("output"), "Pears ripen.") ||
		!strings.Contains(got.Str("output"), "openai/model") {
		t.Errorf("turn = %v", got)
	}
	if sessions, _ := c.Must("GET", "/v1/sessions", nil)["sessions"].([]any); len(sessions) != 1 {
		t.Errorf("the document stays in a session: %v", sessions)
	}
	found := text(invoke(c, "websearch__search", harness.JSON{"query": "anchor"})["content"].([]any))
	if !strings.Contains(found, "What a windlass is") || !strings.Contains(found, "not the web") {
		t.Errorf("found %s", found)
	}
	for _, e := range exampleServers {
		address, err := url.Parse(fmt.Sprint(processes[e.name].Ready["url"]))
		if err != nil {
			t.Fatal(err)
		}
		processes[e.name].Kill()
		if status, _, err := c.Do(t.Context(), "POST", "/v1/sources/"+e.name+":sync", harness.JSON{}); err != nil || status != 503 {
			t.Errorf("sync of a server that is gone: %d, %v", status, err)
		}
		usable(t, c, total-e.tools)
		works(e.name)
		e.start(t, up, address.Host)
		c.Must("POST", "/v1/sources/"+e.name+":sync", harness.JSON{})
		usable(t, c, total)
		works("")
	}
}

// TestASummaryWithoutAModelSaysSo runs the summariser in a mesh with no model but the scripted one.
func TestASummaryWithoutAModelSaysSo(t *testing.T) {
	t.Parallel()
	up := harness.Up(t, t.TempDir(), nil)
	up.Client.Must("POST", "/v1/sources", harness.JSON{
		"name": "summariser", "kind": "mcp", "command": []string{"summariser", "--mesh", up.Client.Base, "--dir", t.TempDir()},
	})
	got := invoke(up.Client, "summariser__summarise", harness.JSON{"text": "Pears ripen. It rains. call:evaluate fail:always"})
	if found := text(got["content"].([]any)); !strings.Contains(found, "Pears ripen.") || !strings.Contains(found, "no model made this") {
		t.Errorf("summary: %s", found)
	}
	if made, _ := got["structured_content"].(map[string]any); made["method"] != "extract" {
		t.Errorf("structured: %v", got)
	}
}

// usable checks how many tools of tool servers can be called.
func usable(t *testing.T, c *harness.Client, want int) {
	t.Helper()
	var names []string
	list, _ := c.Must("GET", "/v1/tools?page_size=1000", nil)["tools"].([]any)
	for _, item := range list {
		tool, _ := item.(map[string]any)
		if name := harness.JSON(tool).Str("name"); tool["available"] == true && !strings.HasPrefix(name, "mesh__") {
			names = append(names, name)
		}
	}
	if len(names) != want {
		t.Errorf("%d tools, want %d: %v", len(names), want, names)
	}
}
