package e2e

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/windlass-dev/windlass/test/harness"
)

// backups is a mesh that is backed up twice, and lost.
type backups struct {
	t *testing.T
	// ledger is where the tool server notes each call.
	ledger string
	// lost is the data directory that was lost: only its keys are used again.
	lost string
	// done completed before both backups, waiting and held between them, late waited for an approval at the second one.
	done, waiting, queued, held, late string
}

// run runs the command that users run, and returns what it prints.
func (b *backups) run(args ...string) []byte {
	b.t.Helper()
	out, err := exec.CommandContext(b.t.Context(), harness.Bin(b.t, "windlass"), args...).Output()
	if err != nil {
		b.t.Fatalf("windlass %v: %v %s", args, err, out)
	}
	return out
}

// approve approves the call for which a turn waits.
func approve(c *harness.Client, turn string) {
	c.Must("POST", "/v1/approvals/"+asked(c, turn, "approval.requested", 1)[0].Str("id")+":decide", harness.JSON{"decision": "approve"})
}

// lose makes turns of all kinds in a mesh, backs it up to older and newer while it runs, and kills it.
func (b *backups) lose(older, newer string) {
	server := harness.Start(b.t, "faulty", nil, harness.Bin(b.t, "examples/faulty"), "--http", "127.0.0.1:0", "--ledger", b.ledger)
	up := harness.Up(b.t, b.lost, nil)
	c := up.Client
	c.Must("POST", "/v1/sources", harness.JSON{"name": "bank", "kind": "mcp", "url": server.Ready["url"]})
	c.Must("POST", "/v1/agents", harness.JSON{"id": "clerk", "model": "builtin/scripted", "tools": []string{"bank__*"}})
	c.Must("POST", "/v1/agents", harness.JSON{
		"id": "careful", "model": "builtin/scripted", "tools": []string{"bank__*"},
		"approvals": []harness.JSON{{"name": "careful", "tools": []string{"bank__slow_once"}, "reason": "it pays", "allow_requester": true}},
	})
	const pay = `call:bank__slow_once {"call_id":"ID","ms":1} then say:paid`
	b.done = c.Turn(c.Session("clerk"), strings.ReplaceAll(pay, "ID", "done"))
	c.Wait(b.done)
	careful := c.Session("careful")
	b.waiting = c.Turn(careful, strings.ReplaceAll(pay, "ID", "waiting"))
	b.queued = c.Turn(careful, "say:behind it")
	asked(c, b.waiting, "approval.requested", 1)
	b.held = c.Turn(c.Session("clerk"), `call:bank__slow_once {"call_id":"held","ms":4000} then say:paid`)
	until(b.t, "the tool server has the call", func() bool { return lines(b.t, b.ledger, false) == 2 })

	b.run("backup", older, "--data-dir", b.lost)
	approve(c, b.waiting)
	for _, turn := range []string{b.waiting, b.queued, b.held} {
		if end := c.Wait(turn); end.Str("status") != "completed" {
			b.t.Errorf("turn %v", end)
		}
	}
	b.late = c.Turn(careful, strings.ReplaceAll(pay, "ID", "late"))
	asked(c, b.late, "approval.requested", 1)
	b.run("backup", newer, "--data-dir", b.lost)
	approve(c, b.late)
	c.Wait(b.late)
	up.Kill()
}

// restore restores a backup, and returns the turns and the calls that are reported to have an unknown outcome.
func (b *backups) restore(file, dir string) (turns, calls []string) {
	b.t.Helper()
	var done struct {
		Recovered struct {
			Turns []struct{ ID string }
			Calls []struct {
				Once   bool
				TurnID string `json:"turn_id"`
			}
		}
		Backup struct {
			LeftOut []struct{ Name string } `json:"left_out"`
		}
	}
	harness.Must(b.t, json.Unmarshal(b.run("restore", file, "--data-dir", dir, "-o", "json"), &done))
	for _, turn := range done.Recovered.Turns {
		turns = append(turns, turn.ID)
	}
	for _, call := range done.Recovered.Calls {
		if call.Once {
			calls = append(calls, call.TurnID)
		}
	}
	for _, key := range done.Backup.LeftOut {
		copyTo(b.t, filepath.Join(b.lost, key.Name), filepath.Join(dir, key.Name))
	}
	return turns, calls
}

func copyTo(t *testing.T, from, to string) {
	t.Helper()
	raw, err := os.ReadFile(from)
	harness.Must(t, err)
	harness.Must(t, os.WriteFile(to, raw, 0o600))
}

// TestARestoredMeshRepeatsNoCall: a mesh is backed up twice while it works, and lost. From either backup, and with the Temporal database of
// either, it starts again: what had ended is there, what was in progress is reported and has failed with an unknown outcome, and the tool
// server gets no call twice.
func TestARestoredMeshRepeatsNoCall(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	b := &backups{t: t, ledger: filepath.Join(dir, "ledger"), lost: filepath.Join(dir, "lost")}
	older, newer := filepath.Join(dir, "older.tar.gz"), filepath.Join(dir, "newer.tar.gz")
	b.lose(older, newer)
	calls := lines(t, b.ledger, false)
	if calls != 4 {
		t.Fatalf("%d calls", calls)
	}
	early := []string{b.waiting, b.queued, b.held}
	for _, tc := range []struct {
		name, file, temporal string
		failed, completed    []string
		// closed have a workflow that closes, and open is the turn of the call that is reported.
		closed []string
		open   string
	}{
		{"older", older, "", early, []string{b.done}, []string{b.waiting, b.held}, b.held},
		{"older, with newer Temporal", older, newer, early, []string{b.done}, []string{b.waiting, b.held}, b.held},
		{"newer, with older Temporal", newer, older, []string{b.late}, []string{b.done, b.waiting, b.queued, b.held}, []string{b.held}, ""},
		{"newer", newer, "", []string{b.late}, []string{b.done, b.waiting, b.queued, b.held}, []string{b.late}, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			b := *b
			b.t = t
			data := filepath.Join(t.TempDir(), "data")
			turns, open := b.restore(tc.file, data)
			if len(turns) != len(tc.failed) || strings.Join(open, " ") != tc.open {
				t.Errorf("reported turns %v, calls of %v", turns, open)
			}
			if tc.temporal != "" {
				other := filepath.Join(t.TempDir(), "other")
				b.restore(tc.temporal, other)
				copyTo(t, filepath.Join(other, "temporal.db"), filepath.Join(data, "temporal.db"))
			}
			up := harness.Up(t, data, []string{"WINDLASS_SESSIONS_LOST_AFTER=100ms"})
			for turn, want := range states(tc.failed, tc.completed) {
				got := up.Client.Must("GET", "/v1/turns/"+turn, nil)
				problem, _ := got["error"].(map[string]any)
				if got.Str("status") != want || want == "failed" && problem["code"] != "outcome_unknown" {
					t.Errorf("turn %v, want it %s", got, want)
				}
			}
			for _, turn := range tc.closed {
				until(t, "its workflow is closed", func() bool { return up.WorkflowClosed(turn) })
			}
			if end := up.Client.Wait(up.Client.Turn(up.Client.Session("clerk"), "say:on we go")); end.Str("output") != "on we go" {
				t.Errorf("the next turn: %v", end)
			}
			if n := lines(t, b.ledger, false); n != calls {
				t.Errorf("%d calls were made again", n-calls)
			}
			up.Stop()
		})
	}
}

func states(failed, completed []string) map[string]string {
	want := map[string]string{}
	for _, turn := range failed {
		want[turn] = "failed"
	}
	for _, turn := range completed {
		want[turn] = "completed"
	}
	return want
}
