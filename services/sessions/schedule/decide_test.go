package schedule

import (
	"testing"
	"time"

	"github.com/windlass-dev/windlass/services/sessions/store/scheduledb"
)

func TestDecide(t *testing.T) {
	const hour = time.Hour
	for _, row := range []struct {
		name string
		f    situation
		want scheduledb.FireOutcome
	}{
		{"nothing runs", situation{policy: scheduledb.OverlapSkip, catchUp: hour}, scheduledb.FireStarting},
		{"no policy is to skip", situation{catchUp: hour, running: 1}, scheduledb.FireSkipped},
		{"a turn runs, skip", situation{policy: scheduledb.OverlapSkip, catchUp: hour, running: 1}, scheduledb.FireSkipped},
		{"a turn runs, queue", situation{policy: scheduledb.OverlapQueue, catchUp: hour, running: 1}, scheduledb.FireQueued},
		{"a turn runs, allow", situation{policy: scheduledb.OverlapAllow, catchUp: hour, running: 3}, scheduledb.FireStarting},
		{"others wait, queue", situation{policy: scheduledb.OverlapQueue, catchUp: hour, ahead: 1}, scheduledb.FireQueued},
		{"too many wait", situation{policy: scheduledb.OverlapQueue, catchUp: hour, running: 1, ahead: maxQueued}, scheduledb.FireSkipped},
		{"it waits among many", situation{
			policy: scheduledb.OverlapQueue, catchUp: hour, outcome: scheduledb.FireQueued, running: 1,
			ahead: maxQueued,
		}, scheduledb.FireQueued},
		{"its time has come", situation{policy: scheduledb.OverlapQueue, catchUp: hour, outcome: scheduledb.FireQueued}, scheduledb.FireStarting},
		{
			"paused while it waits",
			situation{policy: scheduledb.OverlapQueue, catchUp: hour, outcome: scheduledb.FireQueued, paused: true},
			scheduledb.FireQueued,
		},
		{"the session queues", situation{policy: scheduledb.OverlapQueue, inSession: true, catchUp: hour, running: 2}, scheduledb.FireStarting},
		{
			"its start was interrupted",
			situation{policy: scheduledb.OverlapSkip, catchUp: hour, outcome: scheduledb.FireStarting, running: 1},
			scheduledb.FireStarting,
		},
		{"a little late", situation{policy: scheduledb.OverlapSkip, catchUp: hour, late: time.Second}, scheduledb.FireStarting},
		{
			"a little late and made up for",
			situation{policy: scheduledb.OverlapAllow, catchUp: hour, late: time.Second, madeUp: true},
			scheduledb.FireMissed,
		},
		{"late", situation{policy: scheduledb.OverlapSkip, catchUp: hour, late: 10 * time.Minute}, scheduledb.FireStarting},
		{
			"late and made up for",
			situation{policy: scheduledb.OverlapSkip, catchUp: hour, late: 10 * time.Minute, madeUp: true},
			scheduledb.FireMissed,
		},
		{"too late", situation{policy: scheduledb.OverlapAllow, catchUp: hour, late: 2 * hour}, scheduledb.FireMissed},
	} {
		if got, why := row.f.decide(); got != row.want || (why != "") != (got == scheduledb.FireSkipped || got == scheduledb.FireMissed) {
			t.Errorf("%s: %s (%s), want %s", row.name, got, why, row.want)
		}
	}
}
