package e2e

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/windlass-dev/windlass/test/harness"
)

const askingShield = `
policy:
  shields:
  - {name: recipients, detector: email, stage: [tool_arguments], action: ask, allow_requester: true}
`

// TestShieldsThatAsk: a call whose arguments a shield objects to is made after a person has approved it, and not if they deny it.
func TestShieldsThatAsk(t *testing.T) {
	t.Parallel()
	var calls atomic.Int32
	server := newToolServer(t, map[string]string{"send": "Sends mail."})
	server.call = func(http.ResponseWriter, *http.Request, string) harness.JSON {
		calls.Add(1)
		return said("sent", false)
	}
	config := filepath.Join(t.TempDir(), "windlass.yaml")
	if err := os.WriteFile(config, []byte(askingShield), 0o600); err != nil {
		t.Fatal(err)
	}
	c := harness.Up(t, t.TempDir(), nil, "--config", config).Client
	c.Must("POST", "/v1/sources", harness.JSON{"name": "mail", "kind": "mcp", "url": server.URL})
	c.Must("POST", "/v1/agents", harness.JSON{
		"id": "writer", "model": "builtin/scripted", "tools": []string{"mail__*"}, "shields": []string{"recipients"},
	})
	session := c.Session("writer")
	for _, row := range []struct {
		name, decision string
		calls          int32
		result         string
	}{
		{"approved", "approve", 1, "sent"},
		{"denied", "deny", 1, "refused"},
	} {
		before := calls.Load()
		turn := c.Turn(session, `call:mail__send {"to":"ann@example.org"} then say:done`)
		w := c.Watch("/v1/turns/" + turn + "/events")
		a := waits(t, w, c, turn)
		if a.Str("tool") != "mail__send" || !strings.Contains(a.Str("rule")+a.Str("message"), "recipients") || calls.Load() != before {
			t.Errorf("%s: the approval is %v after %d calls", row.name, a, calls.Load())
		}
		c.Must("POST", "/v1/approvals/"+a.Str("id")+":decide", harness.JSON{"decision": row.decision})
		if end := c.Wait(turn); end.Str("output") != "done" || calls.Load() != row.calls {
			t.Errorf("%s: %v after %d calls", row.name, end, calls.Load())
		}
		events := w.End()
		harness.CheckStream(t, events)
		inOrder(t, events, "tool_call.started", "approval.requested", "approval.resolved", "tool_call.completed", "turn.completed")
		if text := resultOf(events); !strings.Contains(text, row.result) {
			t.Errorf("%s: the model is told %s", row.name, text)
		}
	}
	turn := c.Turn(session, `call:mail__send {"to":"all"} then say:done`)
	if end := c.Wait(turn); end.Str("output") != "done" || calls.Load() != 2 {
		t.Errorf("a call without an address: %v after %d calls", end, calls.Load())
	}
}
