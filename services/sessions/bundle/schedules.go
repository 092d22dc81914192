package bundle

import (
	"context"

	"github.com/windlass-dev/windlass/services/sessions/api/convert"
	"github.com/windlass-dev/windlass/services/sessions/schedule"
	"github.com/windlass-dev/windlass/services/sessions/store"
	"github.com/windlass-dev/windlass/services/sessions/store/scheduledb"
)

// planSchedule compares a schedule with the one that there is. It becomes exactly what the document says, but for a pause that the document
// does not mention.
func (s *Service) planSchedule(ctx context.Context, d *Document, find agentOf) (planned, error) {
	check := func(ctx context.Context, spec scheduledb.ScheduleSpec) (string, error) {
		agent, err := find(ctx, spec.AgentID)
		if err != nil {
			return "", err
		}
		return agent.ID, s.deps.CheckSession(ctx, agent, spec.Params, spec.Banks)
	}
	spec := convert.ScheduleFromProto(d.Schedule)
	old, found, err := s.deps.Schedules.Lookup(ctx, d.ID())
	if err != nil {
		return planned{}, err
	}
	if !found {
		return s.planNewSchedule(ctx, d.ID(), spec, check)
	}
	if !d.Has("paused") {
		spec.Paused = old.Spec.Paused
	}
	p := planned{action: Unchanged, permission: "sessions.schedules.update", revision: old.Revision}
	if spec.Equal(old.Spec) {
		return p, nil
	}
	p.action, p.revision = Updated, old.Revision+1
	p.write = func(ctx context.Context, tx *store.Tx, _ *Applied) error {
		_, err := s.deps.Schedules.Save(ctx, tx, old, spec)
		return err
	}
	return p, s.deps.Schedules.Revise(ctx, old, &spec, check)
}

func (s *Service) planNewSchedule(ctx context.Context, id string, spec scheduledb.ScheduleSpec, check schedule.AgentCheck) (planned,
	error,
) {
	p := planned{action: Created, permission: "sessions.schedules.create", revision: 1}
	v, err := s.deps.Schedules.New(ctx, id, spec, check)
	p.write = func(ctx context.Context, tx *store.Tx, out *Applied) error {
		stored, err := s.deps.Schedules.Add(ctx, tx, v)
		out.Revision = uint32(stored.Revision)
		return err
	}
	return p, err
}
