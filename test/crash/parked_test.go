package crash

import (
	"testing"
	"time"

	"github.com/windlass-dev/windlass/test/harness"
)

// TestKilledWhileATurnIsParked: no worker holds the turn, which waits for an approval; one kind of process is killed, the approval is given
// meanwhile if possible, and the turn ends once.
func TestKilledWhileATurnIsParked(t *testing.T) {
	slot(t)
	m := harness.Split(t, harness.SplitOptions{Workers: 2, Config: harness.JSON{"temporal": harness.JSON{"park_after": "1ms"}}})
	c := m.Client
	c.Must("POST", "/v1/agents", harness.JSON{
		"id": careful, "model": "builtin/scripted", "tools": []string{"mesh__*"},
		"approvals": []any{harness.JSON{"name": "ask", "tools": []string{"mesh__uuid"}, "allow_requester": true}},
	})
	var turns []string
	for _, row := range []struct {
		name   string
		kill   []string
		answer bool // can be given while they are away
	}{
		{name: "no worker lives", kill: []string{"worker-1", "worker-2"}, answer: true},
		{name: "Temporal is away", kill: []string{"temporal"}, answer: true},
		{name: "sessions is away", kill: []string{"sessions"}},
		{name: "nobody is there", kill: []string{"sessions", "temporal", "bus", "worker-1", "worker-2"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			turn := c.Turn(c.Session(careful), "call:mesh__uuid {} then say:there you are")
			turns = append(turns, turn)
			watcher := c.Watch("/v1/turns/" + turn + "/events")
			watcher.UntilType("turn.paused")
			if !harness.Eventually(patience, func() bool { return m.Parked(turn) }) {
				t.Fatal("the turn is not parked")
			}
			for _, name := range row.kill {
				m.Kill(name)
			}
			leave := func() {
				ids, _ := c.Must("GET", "/v1/turns/"+turn, nil)["waiting_for"].([]any)
				c.Must("POST", "/v1/approvals/"+ids[0].(string)+":decide", harness.JSON{"decision": "approve"})
			}
			if row.answer {
				leave()
			}
			for _, name := range row.kill {
				m.Launch(name)
			}
			for _, name := range row.kill {
				m.Process(name).Await()
			}
			back := time.Now()
			if !row.answer {
				leave()
			}
			end := c.Wait(turn)
			t.Logf("the turn ended %v after all was back", since(back))
			if end.Str("output") != "there you are" || end.Str("stop_reason") != "end" {
				t.Errorf("turn = %v", end)
			}
			harness.CheckStream(t, watcher.End())
			if rows, _ := c.Must("GET", "/v1/executions?turn_id="+turn, nil)["executions"].([]any); len(rows) != 1 {
				t.Errorf("the ledger has %d rows", len(rows))
			}
		})
	}
	m.Replay(t, turns...)
}
