package schedule

import (
	"testing"
	"time"

	"github.com/windlass-dev/windlass/services/sessions/store/scheduledb"
)

func TestTimesOfASchedule(t *testing.T) {
	hourly := scheduledb.ScheduleSpec{Interval: "1h"}
	morning := scheduledb.ScheduleSpec{Cron: "30 9 * * 1-5", TimeZone: "Europe/Berlin"}
	night := scheduledb.ScheduleSpec{Cron: "30 2 * * *", TimeZone: "Europe/Berlin"}
	for _, row := range []struct {
		name, at string
		spec     scheduledb.ScheduleSpec
		want     bool
	}{
		{name: "an hour since 1970", spec: hourly, at: "2026-11-27T05:00:00Z", want: true},
		{name: "a start by hand", spec: hourly, at: "2026-11-27T05:00:01Z"},
		{name: "half past nine in Berlin", spec: morning, at: "2026-11-27T08:30:00Z", want: true},
		{name: "half past nine elsewhere", spec: morning, at: "2026-11-27T09:30:00Z"},
		{name: "a Saturday", spec: morning, at: "2026-11-28T08:30:00Z"},
		{name: "a second later", spec: morning, at: "2026-11-27T08:30:01Z"},
		{name: "a time that the clocks skip, which Temporal moves", spec: night, at: "2026-03-29T01:30:00Z", want: true},
	} {
		at, err := time.Parse(time.RFC3339, row.at)
		if err != nil {
			t.Fatal(err)
		}
		if got := names(row.spec, at); got != row.want {
			t.Errorf("%s: %v", row.name, got)
		}
	}
}
