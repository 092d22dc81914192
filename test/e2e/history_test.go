package e2e

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"google.golang.org/protobuf/encoding/protojson"

	"github.com/windlass-dev/windlass/test/harness"
)

// update has the histories written anew that the replay test of workflows/turn reads.
var update = flag.Bool("update", false, "write histories of turns that need the whole mesh into workflows/turn/testdata")

// TestShapesOfTheMesh runs turns whose shapes need more than a worker: sub-agents, a route, a budget, a tool of the client. Their histories
// replay; with -update they are kept for later versions.
func TestShapesOfTheMesh(t *testing.T) {
	t.Parallel()
	m := harness.Split(t, harness.SplitOptions{})
	c := m.Client
	for _, a := range []harness.JSON{
		{"id": "worker", "description": "Counts words.", "tools": []string{"mesh__uuid"}},
		{"id": "boss", "agents": []string{"worker"}},
		{"id": "desk", "strategy": "route", "agents": []string{"worker"}},
		{"id": "poor", "tools": []string{"mesh__uuid"}, "limits": harness.JSON{"max_tool_calls": 1}},
		{"id": "asker"},
	} {
		a["model"] = "builtin/scripted"
		c.Must("POST", "/v1/agents", a)
	}
	turns := map[string]string{
		"child":  c.Turn(c.Session("boss"), ask("worker", "slow:100 tokens:10")), // longer than a glance: the workflow waits for the child
		"route":  c.Turn(c.Session("desk"), "count words"),
		"budget": c.Turn(c.Session("poor"), "call:mesh__uuid {} then call:mesh__uuid {} then say:done"),
	}
	pick := c.Must("POST", "/v1/sessions/"+c.Session("asker")+"/turns", harness.JSON{
		"input": "call:client__pick {} then say:picked", "tools": []harness.JSON{{"name": "pick", "description": "Lets the user pick."}},
	}).Str("id")
	turns["client-tool"] = pick
	question := asked(c, pick, "input.requested", 1)[0]
	c.Must("POST", "/v1/approvals/"+question.Str("id")+":answer", harness.JSON{"result": "this"})
	var ids []string
	for name, id := range turns {
		if end := c.Wait(id); end.Str("status") != "completed" {
			t.Errorf("%s: %v", name, end)
		}
		ids = append(ids, id)
	}
	m.Replay(t, ids...)
	if !*update || t.Failed() {
		return
	}
	histories := m.Histories(t, ids...)
	for name, id := range turns {
		raw, err := protojson.Marshal(histories[id])
		if err != nil {
			t.Fatal(err)
		}
		if host, err := os.Hostname(); err == nil { // it is in the names of sticky queues
			raw = bytes.ReplaceAll(raw, []byte(`"`+host+`:`), []byte(`"host:`))
		}
		var text bytes.Buffer
		if err := json.Indent(&text, raw, "", " "); err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(harness.Root(t), "workflows/turn/testdata/histories", name+".json")
		if err := os.WriteFile(file, append(text.Bytes(), '\n'), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
