package schedule

import (
	"time"

	"github.com/windlass-dev/windlass/services/sessions/store/scheduledb"
)

// clockChange is how far from a change of the clocks a time may be that Temporal computed: it moves times that the clocks skip.
const clockChange = 3 * time.Hour

// names reports whether a time is one at which a validated spec fires. Temporal starts workflows at other times too, for any client that
// asks it to.
func names(spec scheduledb.ScheduleSpec, due time.Time) bool {
	if Next(spec, due.Add(-time.Microsecond)).Equal(due) {
		return true
	}
	in, err := zone(spec)
	if err != nil || spec.Cron == "" {
		return false
	}
	_, before := due.Add(-clockChange).In(in).Zone()
	_, after := due.Add(clockChange).In(in).Zone()
	return before != after
}
