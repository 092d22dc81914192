package e2e

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/windlass-dev/windlass/test/harness"
)

// earlierData is the data directory of a `windlass up` of the first version with the baseline of ADR 0081, which was stopped with: a
// session with params, a turn that has ended, one that waits for the client's tool until 2036 and one behind it; a paused schedule
// with params that was run once; a disabled webhook; a budget of the session.
const earlierData = "testdata/data-0081.tgz"

// TestDataOfAnEarlierVersion reads what an earlier version stored, and has the turns end that it left, by workflows that it started.
func TestDataOfAnEarlierVersion(t *testing.T) {
	dir := t.TempDir()
	unpack(t, earlierData, dir)
	m := harness.Up(t, dir, nil)
	c := m.Client
	turns := map[string]harness.JSON{}
	for _, one := range c.Must("GET", "/v1/turns", nil)["turns"].([]any) {
		turn, _ := one.(map[string]any)
		turns[fmt.Sprint(turn["input"])] = turn
	}
	hello, pick, behind := turns["say:hello"], turns[`call:client__pick {"n":1} then say:picked`], turns["say:behind"]
	if len(turns) != 4 || hello.Str("output") != "hello" || turns["say:night"].Str("schedule_id") != "nightly" {
		t.Fatalf("turns %v", turns)
	}
	session := c.Must("GET", "/v1/sessions/"+hello.Str("session_id"), nil)
	if fmt.Sprint(session["params"]) != "map[city:Oslo]" || session.Str("active_turn_id") != pick.Str("id") {
		t.Errorf("session %v", session)
	}
	before := c.Watch("/v1/turns/" + hello.Str("id") + "/events").End()
	if len(before) < 8 || before[len(before)-1].Type != "turn.completed" {
		t.Errorf("events %v", before)
	}
	waits := asked(c, pick.Str("id"), "input.requested", 1)
	c.Must("POST", "/v1/approvals/"+waits[0].Str("id")+":answer", harness.JSON{"result": "this"})
	for _, want := range []struct {
		turn   harness.JSON
		output string
	}{{pick, "picked"}, {behind, "behind"}} {
		if end := c.Wait(want.turn.Str("id")); end.Str("status") != "completed" || end.Str("output") != want.output {
			t.Errorf("turn %v", end)
		}
	}
	workflows := m.Temporal(t)
	for _, turn := range []harness.JSON{pick, behind} {
		if err := workflows.GetWorkflow(t.Context(), turn.Str("id"), "").Get(t.Context(), nil); err != nil {
			t.Errorf("the workflow of %s: %v", turn.Str("id"), err)
		}
	}
	budgets, _ := c.Must("GET", "/v1/budgets", nil)["budgets"].([]any)
	if len(budgets) != 1 || fmt.Sprint(budgets[0].(map[string]any)["max_tool_calls"]) != "5" {
		t.Errorf("budgets %v", budgets)
	}
	checkEarlierSchedule(t, c)
	hook := c.Must("GET", "/v1/webhooks/hook", nil)
	if fmt.Sprint(hook["events"]) != "[turn.completed turn.failed]" || hook["disabled"] != true || hook.Str("description") != "for tests" {
		t.Errorf("webhook %v", hook)
	}
}

// checkEarlierSchedule reads the schedule, runs it, and has it changed.
func checkEarlierSchedule(t *testing.T, c *harness.Client) {
	t.Helper()
	v := c.Must("GET", "/v1/schedules/nightly", nil)
	recent, _ := v["recent"].([]any)
	if v.Str("cron") != "30 2 * * *" || v.Str("time_zone") != "Europe/Berlin" || v.Str("overlap") != "queue" ||
		v.Str("input") != "say:night" ||
		fmt.Sprint(v["params"]) != "map[city:Bergen]" || v.Str("description") != "each night" || v["paused"] != true || len(recent) != 1 {
		t.Errorf("schedule %v", v)
	}
	fire := c.Must("POST", "/v1/schedules/nightly:run", harness.JSON{})
	if end := c.Wait(fire.Str("turn_id")); end.Str("output") != "night" {
		t.Errorf("its turn %v", end)
	}
	ran := c.Must("GET", "/v1/sessions/"+fire.Str("session_id"), nil)
	if fmt.Sprint(ran["params"]) != "map[city:Bergen]" {
		t.Errorf("the session of its turn %v", ran)
	}
	if now := c.Must("PATCH", "/v1/schedules/nightly", harness.JSON{"interval": "1h"}); now.Str("interval") != "1h" || now.Str("cron") != "" ||
		fmt.Sprint(now["revision"]) != "2" {
		t.Errorf("changed to %v", now)
	}
}

// unpack extracts an archive.
func unpack(t *testing.T, archive, dir string) {
	t.Helper()
	file, err := os.Open(archive)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	plain, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	for r := tar.NewReader(plain); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		to := filepath.Join(dir, filepath.Clean("/"+h.Name))
		switch h.Typeflag {
		case tar.TypeDir:
			err = os.MkdirAll(to, 0o700)
		case tar.TypeReg:
			var data []byte
			if data, err = io.ReadAll(io.LimitReader(r, 64<<20)); err == nil {
				err = os.WriteFile(to, data, 0o600)
			}
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}
