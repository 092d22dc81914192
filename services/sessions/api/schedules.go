package api

import (
	"cmp"
	"context"
	"slices"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/windlass-dev/windlass/libs/enum"
	"github.com/windlass-dev/windlass/libs/fieldmask"
	"github.com/windlass-dev/windlass/libs/page"
	"github.com/windlass-dev/windlass/libs/timestamp"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	"github.com/windlass-dev/windlass/services/sessions/access"
	"github.com/windlass-dev/windlass/services/sessions/api/convert"
	"github.com/windlass-dev/windlass/services/sessions/schedule"
	"github.com/windlass-dev/windlass/services/sessions/store/scheduledb"
)

// nextTimes is how many of its next times are in a schedule.
const nextTimes = 3

// Schedules implements ScheduleService.
type Schedules struct {
	sessionsv1.UnimplementedScheduleServiceServer
	schedules *schedule.Service
	now       func() time.Time
}

// NewSchedules serves schedules. now is the time from which their next times count.
func NewSchedules(schedules *schedule.Service, now func() time.Time) *Schedules {
	return &Schedules{schedules: schedules, now: now}
}

// CreateSchedule implements ScheduleService.
func (s *Schedules) CreateSchedule(ctx context.Context, req *sessionsv1.CreateScheduleRequest) (*sessionsv1.Schedule, error) {
	return s.answer(s.schedules.Create(ctx, req.GetSchedule().GetId(), convert.ScheduleFromProto(req.GetSchedule())))
}

// GetSchedule implements ScheduleService.
func (s *Schedules) GetSchedule(ctx context.Context, req *sessionsv1.GetScheduleRequest) (*sessionsv1.Schedule, error) {
	v, fires, err := s.schedules.Get(ctx, req.GetScheduleId(), schedule.MaxRecent)
	if err != nil {
		return nil, err
	}
	out := s.toProto(v)
	for _, f := range fires {
		out.Recent = append(out.Recent, fireToProto(f))
	}
	return out, nil
}

// ListSchedules implements ScheduleService.
func (s *Schedules) ListSchedules(ctx context.Context, req *sessionsv1.ListSchedulesRequest) (*sessionsv1.ListSchedulesResponse, error) {
	var after string
	list := "schedules|" + access.Owner(ctx)
	size, err := page.Request(list, req.GetPageSize(), req.GetPageToken(), 50, &after)
	if err != nil {
		return nil, err
	}
	rows, err := s.schedules.List(ctx, after, size+1)
	if err != nil {
		return nil, err
	}
	rows, next := page.Trim(rows, size, list, func(v scheduledb.Schedule) any { return v.ID })
	out := &sessionsv1.ListSchedulesResponse{NextPageToken: next}
	for _, v := range rows {
		out.Schedules = append(out.Schedules, s.toProto(v))
	}
	return out, nil
}

// UpdateSchedule implements ScheduleService.
func (s *Schedules) UpdateSchedule(ctx context.Context, req *sessionsv1.UpdateScheduleRequest) (*sessionsv1.Schedule, error) {
	want := req.GetSchedule()
	return s.answer(s.schedules.Update(ctx, want.GetId(), int64(want.GetRevision()), func(spec *scheduledb.ScheduleSpec) error {
		now := scheduleToProto(*spec)
		if err := changeSchedule(now, want, req.GetUpdateMask().GetPaths()); err != nil {
			return err
		}
		*spec = convert.ScheduleFromProto(now)
		return nil
	}))
}

// DeleteSchedule implements ScheduleService.
func (s *Schedules) DeleteSchedule(ctx context.Context, req *sessionsv1.DeleteScheduleRequest) (*sessionsv1.DeleteScheduleResponse, error) {
	if err := s.schedules.Delete(ctx, req.GetScheduleId()); err != nil {
		return nil, err
	}
	return &sessionsv1.DeleteScheduleResponse{}, nil
}

// PauseSchedule implements ScheduleService.
func (s *Schedules) PauseSchedule(ctx context.Context, req *sessionsv1.PauseScheduleRequest) (*sessionsv1.Schedule, error) {
	return s.answer(s.schedules.SetPaused(ctx, req.GetScheduleId(), true))
}

// ResumeSchedule implements ScheduleService.
func (s *Schedules) ResumeSchedule(ctx context.Context, req *sessionsv1.ResumeScheduleRequest) (*sessionsv1.Schedule, error) {
	return s.answer(s.schedules.SetPaused(ctx, req.GetScheduleId(), false))
}

// RunSchedule implements ScheduleService.
func (s *Schedules) RunSchedule(ctx context.Context, req *sessionsv1.RunScheduleRequest) (*sessionsv1.ScheduleFire, error) {
	f, err := s.schedules.FireNow(ctx, req.GetScheduleId(), req.GetIdempotencyKey())
	if err != nil {
		return nil, err
	}
	return fireToProto(f), nil
}

// answer converts the result of a change.
func (s *Schedules) answer(v scheduledb.Schedule, err error) (*sessionsv1.Schedule, error) {
	if err != nil {
		return nil, err
	}
	return s.toProto(v), nil
}

var scheduleFields = fieldmask.Resource{Name: "schedule", Mutable: []string{
	"display_name", "description", "agent_id", "session_id", "input", "params", "banks", "cron", "time_zone", "interval", "overlap", "paused",
}}

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

// scheduleToProto converts the fields that an owner sets, as they were set.
func scheduleToProto(spec scheduledb.ScheduleSpec) *sessionsv1.Schedule {
	return &sessionsv1.Schedule{
		DisplayName: spec.DisplayName, Description: spec.Description, AgentId: spec.AgentID, SessionId: spec.SessionID, Input: spec.Input,
		Params: spec.Params, Banks: spec.Banks, Cron: spec.Cron, TimeZone: spec.TimeZone, Interval: spec.Interval, Overlap: string(spec.Overlap),
		Paused: spec.Paused,
	}
}

// toProto converts a schedule as callers see it, without its fires.
func (s *Schedules) toProto(v scheduledb.Schedule) *sessionsv1.Schedule {
	out := scheduleToProto(v.Spec.WithDefaults())
	out.DisplayName = cmp.Or(v.Spec.DisplayName, v.ID)
	out.Id, out.CreatedBy, out.LastTurnId, out.LastError, out.LastFireTime = v.ID, v.Subject, v.LastTurnID, v.LastError,
		timestamp.Of(v.LastFire)
	out.Revision, out.Synced = uint32(v.Revision), v.Synced == v.Revision
	out.CreateTime, out.UpdateTime = timestamp.Of(v.CreateTime), timestamp.Of(v.UpdateTime)
	if v.Spec.Paused {
		return out
	}
	for at := s.now().UTC(); len(out.Next) < nextTimes; {
		if at = schedule.Next(v.Spec, at); at.IsZero() {
			break
		}
		out.Next = append(out.Next, timestamppb.New(at))
	}
	return out
}

func fireToProto(f scheduledb.Fire) *sessionsv1.ScheduleFire {
	return &sessionsv1.ScheduleFire{
		ScheduleId: f.ScheduleID, Time: timestamp.Of(f.Due), Outcome: enum.Parse[sessionsv1.FireOutcome](string(f.Outcome)), Manual: f.Manual,
		TurnId:    f.TurnID,
		SessionId: f.SessionID,
		Error:     f.Error,
	}
}
