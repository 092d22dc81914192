package sessions

import (
	"fmt"
	"time"
)

// Overlap policies.
const (
	overlapSkip  = "skip"
	overlapQueue = "queue"
	overlapAllow = "allow"
)

// maxQueuedFires bounds the fires of a schedule that wait.
const maxQueuedFires = 10

// firing is what there is to know about a fire when it is decided what becomes of it.
type firing struct {
	// policy is the overlap policy; inSession: the turns are of one session, which runs them in order by itself.
	policy    string
	inSession bool
	// outcome is what was decided before, "" at first.
	outcome string
	// paused: what waits must wait on.
	paused bool
	// late is how much later it is than due, 0 for one that somebody asked for; madeUp: by the time it was due the next, the clock had fired late.
	late, catchUp time.Duration
	madeUp        bool
	// running counts turns of the schedule that have not ended or are being begun, ahead the fires that wait before this one.
	running, ahead int
}

// decide gives the outcome, and why it is no turn.
func (f firing) decide() (outcome, why string) {
	switch {
	case f.outcome == fireStarting:
		return fireStarting, ""
	case f.late > f.catchUp:
		return fireMissed, fmt.Sprintf("it came %s late, more than sessions.schedules.catch_up allows (%s)", f.late.Round(time.Second), f.catchUp)
	case f.madeUp:
		return fireMissed, fmt.Sprintf("it came %s late, and another has made up for it", f.late.Round(time.Second))
	case f.outcome == fireQueued && f.paused:
		return fireQueued, ""
	case f.policy == overlapAllow, f.policy == overlapQueue && f.inSession, f.running == 0 && f.ahead == 0:
		return fireStarting, ""
	case f.policy != overlapQueue:
		return fireSkipped, "a turn of the schedule has not ended yet"
	case f.outcome == "" && f.ahead >= maxQueuedFires:
		return fireSkipped, fmt.Sprintf("%d fires wait already", f.ahead)
	}
	return fireQueued, ""
}
