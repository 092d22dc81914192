package schedule

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/windlass-dev/windlass/libs/cron"
	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/services/sessions/access"
	"github.com/windlass-dev/windlass/services/sessions/store/scheduledb"
)

// maxInterval is the longest interval of a schedule.
const maxInterval = 366 * 24 * time.Hour

// AgentCheck finds the agent of a schedule, as Turns.CheckAgent does.
type AgentCheck func(ctx context.Context, spec scheduledb.ScheduleSpec) (string, error)

// invalid makes an error of mistakes, nil for none.
func invalid(wrong []fault.Field) error {
	if len(wrong) == 0 {
		return nil
	}
	return fault.InvalidFields(wrong)
}

// validate checks all of a spec, and sets the agent where it names none.
func (s *Service) validate(ctx context.Context, spec *scheduledb.ScheduleSpec, check AgentCheck) error {
	wrong := s.checkTimes(*spec)
	bad := func(field, message string) {
		wrong = append(wrong, fault.Field{Path: "schedule." + field, Message: message})
	}
	if strings.TrimSpace(spec.Input) == "" {
		bad("input", "is empty: say what the agent is asked each time")
	}
	switch {
	case spec.SessionID == "":
	case spec.AgentID != "":
		bad("session_id", "give either agent_id (a new session each time) or session_id, not both")
	case spec.Params != nil:
		bad("params", "belong to new sessions: leave them out together with session_id")
	case len(spec.Banks) > 0:
		bad("banks", "belong to new sessions: leave them out together with session_id")
	}
	if !access.Storable(spec.DisplayName) || !access.Storable(spec.Description) {
		bad("display_name", "must not contain NUL, nor must description")
	}
	if err := invalid(wrong); err != nil {
		return err
	}
	if err := s.deps.Turns.CheckInput("schedule.input", spec.Input); err != nil {
		return err
	}
	if spec.SessionID != "" {
		return s.deps.Turns.CheckSession(ctx, spec.SessionID)
	}
	agent, err := check(ctx, *spec)
	if err == nil {
		spec.AgentID = agent
	}
	return err
}

// checkTimes lists the mistakes in the times of a spec.
func (s *Service) checkTimes(spec scheduledb.ScheduleSpec) []fault.Field {
	bad := func(field, message string) []fault.Field {
		return []fault.Field{{Path: "schedule." + field, Message: message}}
	}
	switch {
	case spec.Cron == "" && spec.Interval == "":
		return bad("cron", `say when: cron, for example "30 9 * * 1-5", or interval, for example "15m"`)
	case spec.Cron != "" && spec.Interval != "":
		return bad("interval", "give either cron or interval, not both")
	case spec.Interval != "" && spec.TimeZone != "":
		return bad("time_zone", "belongs to cron: an interval has none")
	}
	if spec.Interval != "" {
		d, err := time.ParseDuration(spec.Interval)
		switch {
		case err != nil || d < time.Second || d > maxInterval || d%time.Second != 0:
			return bad("interval", `want whole seconds up to "8784h", for example "15m" or "1h30m"`)
		case d < s.cfg.MinInterval:
			return bad("interval", fmt.Sprintf("is %s: at least %s are needed (sessions.schedules.min_interval)", d, s.cfg.MinInterval))
		}
		return nil
	}
	if _, err := cron.Parse(spec.Cron); err != nil {
		return bad("cron", err.Error())
	}
	if _, err := zone(spec); err != nil {
		return bad("time_zone", `is not a time zone; want a name like "Europe/Berlin" or "UTC"`)
	}
	return nil
}

// zone returns the time zone of a spec's cron expression.
func zone(spec scheduledb.ScheduleSpec) (*time.Location, error) {
	name := spec.TimeZone
	if name == "Local" { // this process's zone, which no one else knows
		name = "local"
	}
	return time.LoadLocation(name)
}

// Next returns the first time after t at which a validated spec fires, the zero time when there is none.
func Next(spec scheduledb.ScheduleSpec, t time.Time) time.Time {
	if every, err := time.ParseDuration(spec.Interval); err == nil && every > 0 {
		return time.Unix(0, 0).Add(t.Sub(time.Unix(0, 0)).Truncate(every) + every)
	}
	c, err := cron.Parse(spec.Cron)
	if err != nil {
		return time.Time{}
	}
	in, err := zone(spec)
	if err != nil {
		return time.Time{}
	}
	return c.Next(t, in)
}
