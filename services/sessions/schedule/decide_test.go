package schedule

import (
	"testing"
	"time"

	"github.com/windlass-dev/windlass/services/sessions/store"
)

func TestDecide(t *testing.T) {
	const hour = time.Hour
	for _, row := range []struct {
		name string
		f    situation
		want store.FireOutcome
	}{
		{"nothing runs", situation{policy: store.OverlapSkip, catchUp: hour}, store.FireStarting},
		{"no policy is to skip", situation{catchUp: hour, running: 1}, store.FireSkipped},
		{"a turn runs, skip", situation{policy: store.OverlapSkip, catchUp: hour, running: 1}, store.FireSkipped},
		{"a turn runs, queue", situation{policy: store.OverlapQueue, catchUp: hour, running: 1}, store.FireQueued},
		{"a turn runs, allow", situation{policy: store.OverlapAllow, catchUp: hour, running: 3}, store.FireStarting},
		{"others wait, queue", situation{policy: store.OverlapQueue, catchUp: hour, ahead: 1}, store.FireQueued},
		{"too many wait", situation{policy: store.OverlapQueue, catchUp: hour, running: 1, ahead: maxQueued}, store.FireSkipped},
		{"it waits among many", situation{policy: store.OverlapQueue, catchUp: hour, outcome: store.FireQueued, running: 1, ahead: maxQueued}, store.FireQueued},
		{"its time has come", situation{policy: store.OverlapQueue, catchUp: hour, outcome: store.FireQueued}, store.FireStarting},
		{"paused while it waits", situation{policy: store.OverlapQueue, catchUp: hour, outcome: store.FireQueued, paused: true}, store.FireQueued},
		{"the session queues", situation{policy: store.OverlapQueue, inSession: true, catchUp: hour, running: 2}, store.FireStarting},
		{"its start was interrupted", situation{policy: store.OverlapSkip, catchUp: hour, outcome: store.FireStarting, running: 1}, store.FireStarting},
		{"a little late", situation{policy: store.OverlapSkip, catchUp: hour, late: time.Second}, store.FireStarting},
		{"a little late and made up for", situation{policy: store.OverlapAllow, catchUp: hour, late: time.Second, madeUp: true}, store.FireMissed},
		{"late", situation{policy: store.OverlapSkip, catchUp: hour, late: 10 * time.Minute}, store.FireStarting},
		{"late and made up for", situation{policy: store.OverlapSkip, catchUp: hour, late: 10 * time.Minute, madeUp: true}, store.FireMissed},
		{"too late", situation{policy: store.OverlapAllow, catchUp: hour, late: 2 * hour}, store.FireMissed},
	} {
		if got, why := row.f.decide(); got != row.want || (why != "") != (got == store.FireSkipped || got == store.FireMissed) {
			t.Errorf("%s: %s (%s), want %s", row.name, got, why, row.want)
		}
	}
}
