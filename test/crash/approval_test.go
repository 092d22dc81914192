package crash

import (
	"testing"
	"time"

	"github.com/windlass-dev/windlass/test/harness"
)

// Everything is killed while a turn waits for an approval. The request stays, and the answer resumes the turn.
func TestUpKilledWhileApprovalWaits(t *testing.T) {
	u := newUp(t)
	u.client.Must("POST", "/v1/agents", harness.JSON{
		"id": "a", "tools": []string{"mesh__*"}, "model": "builtin/scripted",
		"approvals": []harness.JSON{{
			"name": "careful", "tools": []string{"mesh__uuid"}, "allow_requester": true,
		}},
	})
	session := u.client.Session("a")
	turn := u.client.Turn(session, "call:mesh__uuid {} then say:there you are")
	w := u.client.Watch("/v1/turns/" + turn + "/events")
	w.UntilType("turn.paused")
	u.process.Kill()
	u.again()
	now := u.client.Must("GET", "/v1/turns/"+turn, nil)
	ids, _ := now["waiting_for"].([]any)
	if now.Str("status") != "waiting" || len(ids) != 1 {
		t.Fatalf("the turn is %v", now)
	}
	u.client.Must("POST", "/v1/turns/"+turn+":steer", harness.JSON{"input": "say:after all"})
	answered := time.Now()
	u.client.Must("POST", "/v1/approvals/"+ids[0].(string)+":decide", harness.JSON{"decision": "approve"})
	end := u.client.Wait(turn)
	t.Logf("the turn ended %v after the answer", since(answered))
	if end.Str("output") != "after all" || end.Str("stop_reason") != "end" {
		t.Errorf("turn = %v", end)
	}
	harness.CheckStream(t, w.End())
	rows, _ := u.client.Must("GET", "/v1/executions?turn_id="+turn, nil)["executions"].([]any)
	if len(rows) != 1 {
		t.Errorf("the ledger has %d rows", len(rows))
	}
}
