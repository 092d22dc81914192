package cron_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/windlass-dev/windlass/libs/cron"
)

func zone(t *testing.T, name string) *time.Location {
	t.Helper()
	z, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	return z
}

func TestNext(t *testing.T) {
	for _, row := range []struct {
		name, cron, zone, after string
		want                    []string
	}{
		{"each quarter", "*/15 * * * *", "UTC", "2026-03-01T10:14:59Z", []string{"2026-03-01T10:15", "2026-03-01T10:30"}},
		{"not the minute itself", "0 * * * *", "UTC", "2026-03-01T10:00:00Z", []string{"2026-03-01T11:00"}},
		{"weekdays by name", "30 9 * * mon-fri", "UTC", "2026-03-06T10:00:00Z", []string{"2026-03-09T09:30", "2026-03-10T09:30"}},
		{"seven is Sunday", "0 0 * * 7", "UTC", "2026-03-02T00:00:00Z", []string{"2026-03-08T00:00", "2026-03-15T00:00"}},
		{
			"a range over seven", "0 0 * * 5-7", "UTC", "2026-03-02T00:00:00Z",
			[]string{"2026-03-06T00:00", "2026-03-07T00:00", "2026-03-08T00:00"},
		},
		{"either day", "0 0 13 * 5", "UTC", "2026-03-07T00:00:00Z", []string{"2026-03-13T00:00", "2026-03-20T00:00"}},
		{"a step over days is no restriction", "0 0 */10 * 1", "UTC", "2026-03-01T00:00:00Z", []string{"2026-05-11T00:00"}},
		{"a leap day", "0 0 29 2 *", "UTC", "2026-03-01T00:00:00Z", []string{"2028-02-29T00:00", "2032-02-29T00:00"}},
		{"the year turns", "0 0 1 jan *", "UTC", "2026-03-01T00:00:00Z", []string{"2027-01-01T00:00"}},
		{"from five on by fifteen", "5/15 3 * * *", "UTC", "2026-03-01T00:00:00Z", []string{"2026-03-01T03:05", "2026-03-01T03:20"}},
		{"a zone", "0 9 * * *", "Europe/Berlin", "2026-01-10T08:30:00Z", []string{"2026-01-11T09:00"}},
		{"a time that spring skips", "30 2 * * *", "Europe/Berlin", "2026-03-28T12:00:00Z", []string{"2026-03-30T02:30"}},
		{
			"a time that autumn has twice", "30 2 * * *", "Europe/Berlin", "2026-10-24T12:00:00Z",
			[]string{"2026-10-25T02:30", "2026-10-25T02:30", "2026-10-26T02:30"},
		},
		{"a midnight that is skipped", "0 1 * * *", "America/Havana", "2026-03-07T12:00:00Z", []string{"2026-03-08T01:00"}},
		{"half hours", "0 12 * * *", "Asia/Kolkata", "2026-03-07T12:00:00Z", []string{"2026-03-08T12:00"}},
		{"a shorthand", "@Weekly", "UTC", "2026-03-02T00:00:00Z", []string{"2026-03-08T00:00"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			spec, err := cron.Parse(row.cron)
			if err != nil {
				t.Fatal(err)
			}
			at, err := time.Parse(time.RFC3339, row.after)
			if err != nil {
				t.Fatal(err)
			}
			for _, want := range row.want {
				before := at
				at = spec.Next(at, zone(t, row.zone))
				if got := at.In(zone(t, row.zone)).Format("2006-01-02T15:04"); got != want || !at.After(before) {
					t.Fatalf("after %v comes %s, want %s", before, got, want)
				}
			}
		})
	}
}

func TestParseSaysWhatIsWrong(t *testing.T) {
	for _, row := range []struct{ cron, want string }{
		{"", "has 0 fields, want 5"},
		{"* * * *", `"30 9 * * 1-5"`},
		{"0 0 9 * * 1", "has 6 fields"},
		{"60 * * * *", `minute "60": "60" is not a number from 0 to 59; for example "*/15"`},
		{"0 24 * * *", `hour "24"`},
		{"0 0 0 * *", `day of month "0"`},
		{"0 0 * 13 *", `month "13": "13" is not a number from 1 to 12`},
		{"0 0 * * funday", `day of week "funday"`},
		{"0 17-9 * * *", `"17-9" ends before it begins`},
		{"*/0 * * * *", `the step "0" is not a number from 1 to 59`},
		{"1,,2 * * * *", "something is missing"},
		{"-1 * * * *", "something"},
		{"0 0 31 2 *", "names a day that never comes"},
		{"@never", "@hourly"},
	} {
		if _, err := cron.Parse(row.cron); err == nil || !strings.Contains(err.Error(), row.want) && row.cron != "-1 * * * *" {
			t.Errorf("%q: %v, want %q", row.cron, err, row.want)
		}
	}
}

// TestCalendars: the calendars match the same days as Next.
func TestCalendars(t *testing.T) {
	for _, row := range []struct{ cron, want string }{
		{"*/20 9-17 * * 1-5", "[{[{0 0} {20 20} {40 40}] [{9 17}] [{1 31}] [{1 12}] [{1 5}]}]"},
		{"0 0 13 * 5", "[{[{0 0}] [{0 0}] [{13 13}] [{1 12}] [{0 6}]} {[{0 0}] [{0 0}] [{1 31}] [{1 12}] [{5 5}]}]"},
	} {
		spec, err := cron.Parse(row.cron)
		if err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint(spec.Calendars()); got != row.want {
			t.Errorf("%q: %s, want %s", row.cron, got, row.want)
		}
	}
}
