package e2e

import (
	"fmt"
	"strings"
	"testing"

	"github.com/windlass-dev/windlass/libs/testnpm"
	"github.com/windlass-dev/windlass/test/harness"
)

// TestAToolServerAsksTheUser has the reference server ask in the middle of a turn's call, and the whole mesh killed before the
// answer comes.
func TestAToolServerAsksTheUser(t *testing.T) {
	t.Parallel()
	for name, args := range map[string][]string{"stdio": {"stdio"}, "http": nil} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			endpoint := harness.JSON{"command": append(testnpm.Program(t, "server-everything"), args...)}
			if args == nil {
				address := freeAddress(t)
				testnpm.Everything(t, "streamableHttp", address)
				endpoint = harness.JSON{"url": "http://" + address + "/mcp"}
			}
			dir := t.TempDir()
			up := harness.Up(t, dir, nil)
			source(t, up.Client, "everything", endpoint)
			turn := up.Client.Turn(up.Client.Session("everything"), `call:trigger-elicitation-request {}`)
			w := up.Client.Watch("/v1/turns/" + turn + "/events")
			w.Until("the question", func(e harness.Event) bool { return e.Type == "input.requested" })
			up.Kill()

			up = harness.Up(t, dir, nil)
			if got := up.Client.Must("GET", "/v1/turns/"+turn, nil); got.Str("status") != "waiting" {
				t.Errorf("after the restart: %v", got)
			}
			list, _ := up.Client.Must("GET", "/v1/approvals?status=pending&turn_id="+turn, nil)["approvals"].([]any)
			if len(list) != 1 {
				t.Fatalf("open: %v", list)
			}
			asked, _ := list[0].(map[string]any)
			if text := fmt.Sprint(asked); asked["kind"] != "input" || !strings.Contains(text, "name:map[") {
				t.Errorf("asked: %s", text)
			}
			up.Client.Must("POST", "/v1/approvals/"+fmt.Sprint(asked["id"])+":answer", harness.JSON{"content": harness.JSON{"name": "Ada"}})
			end := up.Client.Wait(turn)
			if end.Str("status") != "completed" || !strings.Contains(end.Str("output"), "Ada") {
				t.Errorf("end: %v", end)
			}
			ledger := fmt.Sprint(up.Client.Must("GET", "/v1/executions?turn_id="+turn, nil)["executions"])
			if !strings.Contains(ledger, "attempts:2") || !strings.Contains(ledger, "state:done") {
				t.Errorf("ledger: %s", ledger)
			}
			harness.CheckStream(t, up.Client.Watch("/v1/turns/"+turn+"/events").End())
		})
	}
}
