package schedule

import (
	"fmt"
	"time"

	"github.com/windlass-dev/windlass/services/sessions/store/scheduledb"
)

// maxQueued bounds the fires of a schedule that wait.
const maxQueued = 10

// situation is what the outcome of a fire depends on.
type situation struct {
	// policy is the overlap policy; inSession: the turns are of one session, which runs them in order anyway.
	policy    scheduledb.Overlap
	inSession bool
	// outcome is what was decided before, "" at first.
	outcome scheduledb.FireOutcome
	// paused: queued fires stay queued.
	paused bool
	// late is how long ago it was due, 0 for one that a caller asked for; madeUp: a later fire has made up for it.
	late, catchUp time.Duration
	madeUp        bool
	// running counts turns of the schedule that have not ended or are being started, ahead the queued fires before this one.
	running, ahead int
}

// decide returns the outcome, and why it is no turn.
func (d situation) decide() (outcome scheduledb.FireOutcome, why string) {
	switch {
	case d.outcome == scheduledb.FireStarting:
		return scheduledb.FireStarting, ""
	case d.late > d.catchUp:
		return scheduledb.FireMissed, fmt.Sprintf("it came %s late, more than sessions.schedules.catch_up allows (%s)", d.late.Round(time.Second),
			d.catchUp)
	case d.madeUp:
		return scheduledb.FireMissed, fmt.Sprintf("it came %s late, and another has made up for it", d.late.Round(time.Second))
	case d.outcome == scheduledb.FireQueued && d.paused:
		return scheduledb.FireQueued, ""
	case d.policy == scheduledb.OverlapAllow, d.policy == scheduledb.OverlapQueue && d.inSession, d.running == 0 && d.ahead == 0:
		return scheduledb.FireStarting, ""
	case d.policy != scheduledb.OverlapQueue:
		return scheduledb.FireSkipped, "a turn of the schedule has not ended yet"
	case d.outcome == "" && d.ahead >= maxQueued:
		return scheduledb.FireSkipped, fmt.Sprintf("%d fires wait already", d.ahead)
	}
	return scheduledb.FireQueued, ""
}
