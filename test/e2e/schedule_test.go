package e2e

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	tclient "go.temporal.io/sdk/client"

	"github.com/windlass-dev/windlass/test/harness"
	"github.com/windlass-dev/windlass/workflows/contract"
)

// TestSchedules is what a schedule promises, fired by the real Temporal.
func TestSchedules(t *testing.T) {
	t.Parallel()
	up := harness.Up(t, t.TempDir(), []string{"WINDLASS_SESSIONS_SCHEDULES_CHECK_INTERVAL=500ms"})
	c := up.Client
	c.Must("POST", "/v1/agents", harness.JSON{"id": "clerk", "model": "builtin/scripted"})

	c.Must("POST", "/v1/schedules", harness.JSON{"id": "often", "agent_id": "clerk", "input": "say:tick", "interval": "1s"})
	fired := started(t, c, "often", 2)
	for _, turn := range fired {
		if end := c.Wait(turn); end.Str("output") != "tick" || end.Str("schedule_id") != "often" || end.Str("agent_id") != "clerk" {
			t.Errorf("turn = %v", end)
		}
	}
	if n := len(c.Must("GET", "/v1/schedules/often", nil)["next"].([]any)); n != 3 {
		t.Errorf("%d next times", n)
	}

	paused := c.Must("POST", "/v1/schedules/often:pause", harness.JSON{})
	if paused["paused"] != true || paused["next"] != nil && len(paused["next"].([]any)) != 0 {
		t.Errorf("paused = %v", paused)
	}
	until(t, "Temporal knows of the pause", func() bool { return c.Must("GET", "/v1/schedules/often", nil)["synced"] == true })
	before := c.Must("GET", "/v1/schedules/often", nil).Str("last_turn_id")
	fire := c.Must("POST", "/v1/schedules/often:run", harness.JSON{})
	if fire.Str("outcome") != "started" || fire["manual"] != true || fire.Str("turn_id") == before {
		t.Errorf("fire = %v", fire)
	}
	if end := c.Wait(fire.Str("turn_id")); end.Str("output") != "tick" {
		t.Errorf("turn = %v", end)
	}

	c.Must("POST", "/v1/schedules", harness.JSON{
		"id": "yearly", "agent_id": "clerk", "input": "say:happy new year", "cron": "0 0 1 jan *", "time_zone": "Asia/Tokyo",
	})
	if next := c.Must("GET", "/v1/schedules/yearly", nil)["next"].([]any); len(next) != 3 ||
		!strings.HasSuffix(next[0].(string), "-12-31T15:00:00Z") {
		t.Errorf("next = %v", next)
	}
	comesBack(t, up, "yearly")

	status, problem, err := c.Do(t.Context(), "POST", "/v1/schedules", harness.JSON{"input": "x", "cron": "61 * * * *"})
	if err != nil || status != http.StatusBadRequest || !strings.Contains(fmt.Sprint(problem), `minute "61"`) {
		t.Errorf("a bad cron: %d %v %v", status, problem, err)
	}
}

// TestSchedulesOutliveEverything kills all of windlass up; afterwards schedules fire again.
func TestSchedulesOutliveEverything(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	up := harness.Up(t, dir, nil)
	up.Client.Must("POST", "/v1/agents", harness.JSON{"id": "clerk", "model": "builtin/scripted"})
	up.Client.Must("POST", "/v1/schedules", harness.JSON{"id": "often", "agent_id": "clerk", "input": "say:tick", "interval": "2s"})
	before := started(t, up.Client, "often", 1)
	up.Kill()
	up = harness.Up(t, dir, nil)
	after := started(t, up.Client, "often", len(before)+1)
	for _, turn := range after {
		if end := up.Client.Wait(turn); end.Str("output") != "tick" {
			t.Errorf("turn = %v", end)
		}
	}
}

// started waits until a schedule has begun so many turns, and gives them.
func started(t *testing.T, c *harness.Client, id string, many int) []string {
	t.Helper()
	var turns []string
	until(t, fmt.Sprintf("schedule %s has fired %d times", id, many), func() bool {
		turns = nil
		recent, _ := c.Must("GET", "/v1/schedules/"+id, nil)["recent"].([]any)
		for _, fire := range recent {
			if f, _ := fire.(map[string]any); f["outcome"] == "started" {
				turns = append(turns, f["turn_id"].(string))
			}
		}
		return len(turns) >= many
	})
	return turns
}

// comesBack deletes a schedule in Temporal by hand, and waits until it is there again; deleted in Windlass it stays away.
func comesBack(t *testing.T, up *harness.Embedded, id string) {
	t.Helper()
	tc := up.Temporal(t)
	handle := tc.ScheduleClient().GetHandle(t.Context(), contract.ScheduleID("default", id))
	there := func() *tclient.ScheduleDescription {
		d, err := handle.Describe(t.Context())
		if err != nil {
			return nil
		}
		return d
	}
	until(t, "Temporal knows the schedule", func() bool { return there() != nil })
	if zone := there().Schedule.Spec.TimeZoneName; zone != "Asia/Tokyo" {
		t.Errorf("zone %q", zone)
	}
	if err := handle.Delete(t.Context()); err != nil {
		t.Fatal(err)
	}
	until(t, "the schedule is there again", func() bool { return there() != nil })
	if err := handle.Pause(t.Context(), tclient.SchedulePauseOptions{}); err != nil {
		t.Fatal(err)
	}
	until(t, "the schedule is no longer paused", func() bool { d := there(); return d != nil && !d.Schedule.State.Paused })
	up.Client.Must("DELETE", "/v1/schedules/"+id, nil)
	until(t, "Temporal has forgotten the schedule", func() bool { return there() == nil })
}
