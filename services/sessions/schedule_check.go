package sessions

import (
	"context"
	"slices"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/windlass-dev/windlass/libs/cron"
	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/fieldmask"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
)

// Bounds of a schedule's interval.
const (
	minInterval = time.Second
	maxInterval = 366 * 24 * time.Hour
)

// invalid makes an error of what is wrong, nil for nothing.
func invalid(wrong []fault.Field) error {
	if len(wrong) == 0 {
		return nil
	}
	return fault.InvalidFields(wrong)
}

// agentOf finds the agent that a schedule names.
type agentOf func(ctx context.Context, id string) (*sessionsv1.Agent, error)

// checkSchedule finds what is wrong with a schedule of the caller's, and names its agent where it names none.
func (s *Service) checkSchedule(ctx context.Context, v *sessionsv1.Schedule, find agentOf) error {
	wrong := checkTimes(v)
	add := func(field, message string) {
		wrong = append(wrong, fault.Field{Path: "schedule." + field, Message: message})
	}
	if blank(v.GetInput()) {
		add("input", "is empty: say what the agent is asked each time")
	}
	switch {
	case v.GetSessionId() == "":
	case v.GetAgentId() != "":
		add("session_id", "give either agent_id (a new session each time) or session_id, not both")
	case v.GetParams() != nil:
		add("params", "belong to new sessions: leave them out together with session_id")
	}
	if !known(v.GetDisplayName()) || !known(v.GetDescription()) {
		add("display_name", "must not contain NUL, nor must description")
	}
	if err := invalid(wrong); err != nil {
		return err
	}
	if _, err := s.checkText("schedule.input", v.GetInput()); err != nil {
		return err
	}
	if v.GetSessionId() != "" {
		_, err := s.session(ctx, v.GetSessionId())
		return err
	}
	agent, err := find(ctx, v.GetAgentId())
	if err != nil {
		return err
	}
	v.AgentId = agent.GetId()
	_, err = s.sessionWith(ctx, agent, "", nil, v.GetParams())
	return err
}

// checkTimes finds what is wrong with the times of a schedule.
func checkTimes(v *sessionsv1.Schedule) []fault.Field {
	one := func(field, message string) []fault.Field {
		return []fault.Field{{Path: "schedule." + field, Message: message}}
	}
	switch {
	case v.GetCron() == "" && v.GetInterval() == "":
		return one("cron", `say when: cron, for example "30 9 * * 1-5", or interval, for example "15m"`)
	case v.GetCron() != "" && v.GetInterval() != "":
		return one("interval", "give either cron or interval, not both")
	case v.GetInterval() != "" && v.GetTimeZone() != "":
		return one("time_zone", "belongs to cron: an interval has none")
	}
	if v.GetInterval() != "" {
		if d, err := time.ParseDuration(v.GetInterval()); err != nil || d < minInterval || d > maxInterval || d%time.Second != 0 {
			return one("interval", `want whole seconds from "1s" to "8784h", for example "15m" or "1h30m"`)
		}
		return nil
	}
	if _, err := cron.Parse(v.GetCron()); err != nil {
		return one("cron", err.Error())
	}
	if _, err := zoneOf(v); err != nil {
		return one("time_zone", `is not a time zone; want a name like "Europe/Berlin" or "UTC"`)
	}
	return nil
}

// zoneOf gives the zone of a schedule's cron expression.
func zoneOf(v *sessionsv1.Schedule) (*time.Location, error) {
	name := v.GetTimeZone()
	if name == "Local" { // of this process: nobody else knows it
		name = "local"
	}
	return time.LoadLocation(name) //nolint:wrapcheck // the caller says it in his own words
}

// nextTime gives the first time after t at which a schedule that was checked is due, zero when there is none.
func nextTime(v *sessionsv1.Schedule, t time.Time) time.Time {
	if every, err := time.ParseDuration(v.GetInterval()); err == nil && every > 0 {
		return time.Unix(0, 0).Add(t.Sub(time.Unix(0, 0)).Truncate(every) + every)
	}
	spec, err := cron.Parse(v.GetCron())
	if err != nil {
		return time.Time{}
	}
	zone, err := zoneOf(v)
	if err != nil {
		return time.Time{}
	}
	return spec.Next(t, zone)
}

// scheduleFields are what an owner sets.
var scheduleFields = fieldmask.Resource{Name: "schedule", Mutable: []string{
	"display_name", "description", "agent_id", "session_id", "input", "params", "cron", "time_zone", "interval", "overlap", "paused",
}}

// ownPart is what of a schedule is stored: what its owner set, but for the pause, which has its own place.
func ownPart(v *sessionsv1.Schedule) *sessionsv1.Schedule {
	out := &sessionsv1.Schedule{}
	if err := scheduleFields.Apply(out, v, []string{"*"}); err != nil {
		panic(err) // schedules have no fixed fields
	}
	out.Paused = false
	return out
}

// changeSchedule applies an update. Of two fields that exclude each other the one that is set clears the other.
func changeSchedule(to, from *sessionsv1.Schedule, paths []string) error {
	if err := scheduleFields.Apply(to, from, paths); err != nil || slices.Contains(paths, "*") {
		return err
	}
	sets := func(name, value string) bool {
		return value != "" && (len(paths) == 0 || slices.Contains(paths, name))
	}
	clearUnless := func(field *string, name, value string) {
		if !sets(name, value) {
			*field = ""
		}
	}
	if sets("interval", from.GetInterval()) {
		clearUnless(&to.Cron, "cron", from.GetCron())
		clearUnless(&to.TimeZone, "time_zone", from.GetTimeZone())
	} else if sets("cron", from.GetCron()) {
		to.Interval = ""
	}
	if sets("session_id", from.GetSessionId()) {
		clearUnless(&to.AgentId, "agent_id", from.GetAgentId())
	} else if sets("agent_id", from.GetAgentId()) {
		to.SessionId = ""
	}
	return nil
}

// sameSchedule tells whether two versions of a schedule are the same in all that an owner sets.
func sameSchedule(a, b *sessionsv1.Schedule) bool {
	return a.GetPaused() == b.GetPaused() && proto.Equal(ownPart(a), ownPart(b))
}

// sameWork tells whether two versions of a schedule do the same, at whatever times.
func sameWork(a, b *sessionsv1.Schedule) bool {
	return a.GetAgentId() == b.GetAgentId() && a.GetSessionId() == b.GetSessionId() && a.GetInput() == b.GetInput() && proto.Equal(a.GetParams(), b.GetParams())
}
