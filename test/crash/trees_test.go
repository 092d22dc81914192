package crash

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/windlass-dev/windlass/test/harness"
)

// pensive is an executor in sh that reports its session, waits a second when it starts, and answers at once when it is resumed.
const pensive = `#!/bin/sh
read -r invocation
echo '{"type":"session","executor_session_id":"mine"}'
case "$invocation" in *'"mode":"start"'*) sleep 1 ;; esac
echo '{"type":"answer","text":"thought of it"}'
`

// trees are inputs of the agent boss, each with the end of its answer, the number of sub-agents it starts, and the number of turns in
// its session in the end.
var trees = []struct {
	name, input, answer string
	children, turns     int
}{
	{"a child", `call:agent__kid {"message": "slow:60 tokens:30"} then say:grown`, "grown", 1, 1},
	{
		"two at once", `call:agent__kid {"message": "slow:40 tokens:15"} call:agent__kid {"message": "slow:60 tokens:15"} then say:both`, "both",
		2, 1,
	},
	{"one in the background", `call:agent__kid {"message": "slow:60 tokens:20", "background": true} then say:asked`, "asked", 1, 2},
	{"a hosted one", `call:agent__thinker {"message": "think"} then say:hosted`, "hosted", 1, 1},
	{"one that plans", `call:agent__planner {"message": "First compute 6 * 7, then compute 8 * 9."} then say:planned`, "planned", 1, 1},
	{"a call that waits for approval", `call:faulty__idempotent {"call_id": "%s"} then say:allowed`, "allowed", 0, 1},
}

// TestUpKilledRepeatedlyInTrees: everything dies three times while agents of all kinds call each other. Each is started once, each
// answer arrives once, and turns that wait for people continue.
func TestUpKilledRepeatedlyInTrees(t *testing.T) {
	u := newUp(t)
	u.castTrees(t)
	people, home := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); u.approveAll(people) }()
	defer func() { home(); <-done }()

	type member struct{ kind, of, session, turn string }
	var all []member
	for kind, f := range trees {
		for n := range 2 {
			id := fmt.Sprintf("%d-%d", kind, n)
			input := f.input
			if strings.Contains(input, "%s") {
				input = fmt.Sprintf(input, id)
			}
			session := u.client.Session("boss")
			all = append(all, member{f.name, id, session, u.client.Turn(session, input)})
		}
	}
	for range 3 {
		pause := time.NewTimer(700 * time.Millisecond) // wherever that is
		<-pause.C
		u.process.Kill()
		u.again()
	}
	for i, m := range all {
		f := trees[i/2]
		if end := u.client.Wait(m.turn); end.Str("status") != "completed" || end.Str("output") != f.answer {
			t.Errorf("%s: %v", m.kind, end)
		}
		harness.CheckStream(t, u.client.Watch("/v1/turns/"+m.turn+"/events").End())
		tree := u.client.Must("GET", "/v1/turns/"+m.turn+"/tree", nil)
		if below, _ := tree["children"].([]any); len(below) != f.children {
			t.Errorf("%s: %d children, want %d", m.kind, len(below), f.children)
		}
		if !harness.Eventually(patience, func() bool { return u.ended(m.session) >= f.turns }) || u.ended(m.session) != f.turns {
			t.Errorf("%s: %d turns of the session, want %d", m.kind, u.ended(m.session), f.turns)
		}
	}
	keys := map[string]string{}
	for _, act := range u.acts() { // it may be repeated, with its key
		if before, ok := keys[act.Str("call_id")]; ok && before != act.Str("idempotency_key") {
			t.Errorf("call %s came with two keys", act.Str("call_id"))
		}
		keys[act.Str("call_id")] = act.Str("idempotency_key")
	}
	if len(keys) != 2 {
		t.Errorf("the tool saw %d calls, want 2", len(keys))
	}
}

// castTrees creates the agents.
func (u *upScene) castTrees(t *testing.T) {
	t.Helper()
	program := filepath.Join(t.TempDir(), "thinker.sh")
	if err := os.WriteFile(program, []byte(pensive), 0o700); err != nil {
		t.Fatal(err)
	}
	u.client.Must("POST", "/v1/sources", harness.JSON{"name": "faulty", "kind": "mcp", "url": u.serveTools(t)})
	const scripted = "builtin/scripted"
	for _, a := range []harness.JSON{
		{"id": "kid", "model": scripted},
		{"id": "planner", "model": scripted, "strategy": "plan", "tools": []string{"calculator__*"}},
		{"id": "thinker", "executor": harness.JSON{"kind": "process", "command": []string{"sh", program}}},
		{
			"id": "boss", "model": scripted, "agents": []string{"kid", "planner", "thinker"}, "tools": []string{"faulty__idempotent"},
			"approvals": []any{harness.JSON{"name": "ask", "tools": []string{"faulty__*"}, "allow_requester": true}},
		},
	} {
		u.client.Must("POST", "/v1/agents", a)
	}
}

// approveAll approves every pending request until ctx ends, and retries while the service is unavailable.
func (u *upScene) approveAll(ctx context.Context) {
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		status, list, err := u.client.Do(ctx, "GET", "/v1/approvals?status=pending&kind=approval", nil)
		if err != nil || status != http.StatusOK {
			continue
		}
		pending, _ := list["approvals"].([]any)
		for _, one := range pending {
			a, _ := one.(map[string]any)
			_, _, _ = u.client.Do(ctx, "POST", fmt.Sprintf("/v1/approvals/%v:decide", a["id"]), harness.JSON{"decision": "approve"}) // or next time
		}
	}
}

// ended counts the turns of a session that are over.
func (u *upScene) ended(session string) int {
	n := 0
	turns, _ := u.client.Must("GET", "/v1/sessions/"+session+"/turns", nil)["turns"].([]any)
	for _, one := range turns {
		if turn, _ := one.(map[string]any); turn["end_time"] != nil {
			n++
		}
	}
	return n
}
