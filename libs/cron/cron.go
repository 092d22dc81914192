// Package cron parses five-field cron expressions, explains what is wrong with one, and computes the times that match it.
package cron

import (
	"fmt"
	"strings"
	"time"
)

// Spec is a parsed expression. The zero value matches no time.
type Spec struct {
	minute, hour, dom, month, dow set
	// bothDays is set if day of month and day of week are both restricted; then either may match.
	bothDays bool
}

// set is a bit set of small numbers.
type set uint64

func (s set) has(n int) bool { return s&(1<<n) != 0 }

// field describes one of the five fields.
type field struct {
	name     string
	min, max int
	names    []string // of min, min+1, …
	example  string
}

func fields() [5]field {
	return [5]field{
		{name: "minute", min: 0, max: 59, example: `"*/15"`},
		{name: "hour", min: 0, max: 23, example: `"9-17"`},
		{name: "day of month", min: 1, max: 31, example: `"1,15"`},
		{
			name: "month", min: 1, max: 12, names: []string{"jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"},
			example: `"1-6" or "jan"`,
		},
		{name: "day of week", min: 0, max: 7, names: []string{"sun", "mon", "tue", "wed", "thu", "fri", "sat"}, example: `"1-5" or "mon-fri"`},
	}
}

// shorthands maps names to common expressions.
func shorthands() map[string]string {
	return map[string]string{
		"@hourly": "0 * * * *", "@daily": "0 0 * * *", "@midnight": "0 0 * * *", "@weekly": "0 0 * * 0", "@monthly": "0 0 1 * *",
		"@yearly": "0 0 1 1 *", "@annually": "0 0 1 1 *",
	}
}

// Parse reads "MINUTE HOUR DAY-OF-MONTH MONTH DAY-OF-WEEK" or a shorthand such as "@daily". Its error names the wrong field and gives an
// example of a valid one.
func Parse(text string) (Spec, error) {
	if strings.HasPrefix(text, "@") {
		full, ok := shorthands()[strings.ToLower(text)]
		if !ok {
			return Spec{}, fmt.Errorf("%q is not known; there are @hourly, @daily, @weekly, @monthly and @yearly", text)
		}
		text = full
	}
	parts := strings.Fields(text)
	if len(parts) != 5 {
		return Spec{}, fmt.Errorf(`%q has %d fields, want 5: "MINUTE HOUR DAY-OF-MONTH MONTH DAY-OF-WEEK", for example "30 9 * * 1-5"`, text,
			len(parts))
	}
	var s Spec
	for i, to := range []*set{&s.minute, &s.hour, &s.dom, &s.month, &s.dow} {
		f := fields()[i]
		got, err := f.parse(parts[i])
		if err != nil {
			return Spec{}, fmt.Errorf("%s %q: %w; for example %s", f.name, parts[i], err, f.example)
		}
		*to = got
	}
	if s.dow.has(7) {
		s.dow = s.dow&^(1<<7) | 1
	}
	s.bothDays = !strings.HasPrefix(parts[2], "*") && !strings.HasPrefix(parts[4], "*")
	if s.Next(time.Unix(0, 0), time.UTC).IsZero() {
		return Spec{}, fmt.Errorf("%q names a day that never comes", text)
	}
	return s, nil
}

// horizon is how far ahead Next searches: further than any February 29th.
const horizon = 9 * 366 * 24 * time.Hour

// Next returns the first minute after t whose wall-clock time in the zone matches, or zero if there is none in the next nine years. A time
// that clocks skip does not match; one that occurs twice matches twice.
func (s Spec) Next(t time.Time, zone *time.Location) time.Time {
	end := t.Add(horizon)
	for at := t.Truncate(time.Minute).Add(time.Minute); at.Before(end); {
		local := at.In(zone)
		switch {
		case !s.month.has(int(local.Month())) || !s.day(local):
			at = later(at, time.Date(local.Year(), local.Month(), local.Day()+1, 0, 0, 0, 0, zone))
		case !s.hour.has(local.Hour()):
			at = at.Add(time.Duration(60-local.Minute()) * time.Minute)
		case !s.minute.has(local.Minute()):
			at = at.Add(time.Minute)
		default:
			return at
		}
	}
	return time.Time{}
}

// later returns then if it is after at, else one hour after at: a midnight that does not exist must not stop the search.
func later(at, then time.Time) time.Time {
	if then.After(at) {
		return then
	}
	return at.Add(time.Hour)
}

func (s Spec) day(t time.Time) bool {
	dom, dow := s.dom.has(t.Day()), s.dow.has(int(t.Weekday()))
	if s.bothDays {
		return dom || dow
	}
	return dom && dow
}

// Range is an inclusive range of numbers.
type Range struct{ From, To int }

// Calendar matches the times whose every part is in one of its ranges. Sunday is 0.
type Calendar struct{ Minute, Hour, DayOfMonth, Month, DayOfWeek []Range }

// Calendars returns calendars whose union matches the expression. There are two if either day field may match.
func (s Spec) Calendars() []Calendar {
	c := Calendar{
		Minute: s.minute.ranges(), Hour: s.hour.ranges(), DayOfMonth: s.dom.ranges(), Month: s.month.ranges(),
		DayOfWeek: s.dow.ranges(),
	}
	if !s.bothDays {
		return []Calendar{c}
	}
	byWeek := c
	c.DayOfWeek = []Range{{0, 6}}
	byWeek.DayOfMonth = []Range{{1, 31}}
	return []Calendar{c, byWeek}
}

func (s set) ranges() []Range {
	var out []Range
	for n := range 64 {
		switch {
		case !s.has(n):
		case len(out) > 0 && out[len(out)-1].To == n-1:
			out[len(out)-1].To = n
		default:
			out = append(out, Range{n, n})
		}
	}
	return out
}
