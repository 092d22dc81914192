package sessions

import (
	"testing"
	"time"
)

func TestDecideFire(t *testing.T) {
	const hour = time.Hour
	for _, row := range []struct {
		name string
		f    firing
		want string
	}{
		{"nothing runs", firing{policy: overlapSkip, catchUp: hour}, fireStarting},
		{"no policy is to skip", firing{catchUp: hour, running: 1}, fireSkipped},
		{"a turn runs, skip", firing{policy: overlapSkip, catchUp: hour, running: 1}, fireSkipped},
		{"a turn runs, queue", firing{policy: overlapQueue, catchUp: hour, running: 1}, fireQueued},
		{"a turn runs, allow", firing{policy: overlapAllow, catchUp: hour, running: 3}, fireStarting},
		{"others wait, queue", firing{policy: overlapQueue, catchUp: hour, ahead: 1}, fireQueued},
		{"too many wait", firing{policy: overlapQueue, catchUp: hour, running: 1, ahead: maxQueuedFires}, fireSkipped},
		{"it waits among many", firing{policy: overlapQueue, catchUp: hour, outcome: fireQueued, running: 1, ahead: maxQueuedFires}, fireQueued},
		{"its time has come", firing{policy: overlapQueue, catchUp: hour, outcome: fireQueued}, fireStarting},
		{"paused while it waits", firing{policy: overlapQueue, catchUp: hour, outcome: fireQueued, paused: true}, fireQueued},
		{"the session queues", firing{policy: overlapQueue, inSession: true, catchUp: hour, running: 2}, fireStarting},
		{"its beginner is gone", firing{policy: overlapSkip, catchUp: hour, outcome: fireStarting, running: 1}, fireStarting},
		{"a little late", firing{policy: overlapSkip, catchUp: hour, late: time.Second}, fireStarting},
		{"a little late and made up for", firing{policy: overlapAllow, catchUp: hour, late: time.Second, madeUp: true}, fireMissed},
		{"late", firing{policy: overlapSkip, catchUp: hour, late: 10 * time.Minute}, fireStarting},
		{"late and made up for", firing{policy: overlapSkip, catchUp: hour, late: 10 * time.Minute, madeUp: true}, fireMissed},
		{"too late", firing{policy: overlapAllow, catchUp: hour, late: 2 * hour}, fireMissed},
	} {
		if got, why := row.f.decide(); got != row.want || (why != "") != (got == fireSkipped || got == fireMissed) {
			t.Errorf("%s: %s (%s), want %s", row.name, got, why, row.want)
		}
	}
}
