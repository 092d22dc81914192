package sessions

import (
	"context"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/windlass-dev/windlass/libs/cron"
	"github.com/windlass-dev/windlass/libs/fault"
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

// owned are the fields of a schedule that its owner sets. Naming another is no error, so that a caller may send back what he read.
var owned = map[protoreflect.Name]bool{
	"display_name": true, "description": true, "agent_id": true, "session_id": true, "input": true, "params": true, "cron": true,
	"time_zone": true, "interval": true, "overlap": true, "paused": true,
}

// ownPart is what of a schedule is stored: what its owner set, but for the pause, which has its own place.
func ownPart(v *sessionsv1.Schedule) *sessionsv1.Schedule {
	out := &sessionsv1.Schedule{}
	copyOwned(out, v, func(protoreflect.FieldDescriptor) bool { return true })
	out.Paused = false
	return out
}

func copyOwned(to, from *sessionsv1.Schedule, which func(protoreflect.FieldDescriptor) bool) {
	fields := to.ProtoReflect().Descriptor().Fields()
	for i := range fields.Len() {
		if fd := fields.Get(i); owned[fd.Name()] && which(fd) {
			copyField(to.ProtoReflect(), from.ProtoReflect(), fd)
		}
	}
}

// changeSchedule copies the fields that paths name; without paths those that are set. Of two that exclude each other the one that is set takes
// the other away.
func changeSchedule(to, from *sessionsv1.Schedule, paths []string) error {
	named := map[protoreflect.Name]bool{}
	for _, path := range paths {
		first, _, _ := strings.Cut(path, ".")
		name := protoreflect.Name(first)
		if path != "*" && to.ProtoReflect().Descriptor().Fields().ByName(name) == nil {
			return fault.Invalid("update_mask", "%q: there is no such field", path)
		}
		named[name] = true
	}
	changed := from.ProtoReflect()
	copyOwned(to, from, func(fd protoreflect.FieldDescriptor) bool {
		return named["*"] || named[fd.Name()] || len(paths) == 0 && changed.Has(fd)
	})
	if named["*"] {
		return nil
	}
	has := func(name protoreflect.Name, value string) bool {
		return value != "" && (named[name] || len(paths) == 0)
	}
	clearUnless := func(field *string, name protoreflect.Name, value string) {
		if !has(name, value) {
			*field = ""
		}
	}
	if has("interval", from.GetInterval()) {
		clearUnless(&to.Cron, "cron", from.GetCron())
		clearUnless(&to.TimeZone, "time_zone", from.GetTimeZone())
	} else if has("cron", from.GetCron()) {
		to.Interval = ""
	}
	if has("session_id", from.GetSessionId()) {
		clearUnless(&to.AgentId, "agent_id", from.GetAgentId())
	} else if has("agent_id", from.GetAgentId()) {
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
