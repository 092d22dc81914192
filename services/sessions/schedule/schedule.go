package sessions

import (
	"context"
	"errors"
	"fmt"

	"google.golang.org/protobuf/proto"

	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/ids"
	"github.com/windlass-dev/windlass/libs/page"
	"github.com/windlass-dev/windlass/libs/sqldb"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	"github.com/windlass-dev/windlass/services/sessions/store"
)

// recentFires is how many fires of a schedule are kept and shown.
const recentFires = 20

func noSchedule(id string) error { return fault.NotFound("schedule %q does not exist", id) }

// schedule reads a schedule that the caller may see.
func (s *Service) schedule(ctx context.Context, id string) (store.Schedule, error) {
	row, _, err := s.scheduleWithFires(ctx, id, 0)
	return row, err
}

// scheduleWithFires reads one, if the caller may see it, with the newest of its fires.
func (s *Service) scheduleWithFires(ctx context.Context, id string, limit int) (store.Schedule, []store.Fire, error) {
	if !known(id) {
		return store.Schedule{}, nil, noSchedule(id)
	}
	row, fires, err := s.store.ScheduleWithFires(ctx, authn.Tenant(ctx), id, limit)
	if own := subject(ctx); errors.Is(err, store.ErrNotFound) || err == nil && (row.Deleted || own != "" && own != row.Subject) {
		err = noSchedule(id)
	}
	return row, fires, err
}

// CreateSchedule implements ScheduleService.
func (s *Service) CreateSchedule(ctx context.Context, req *sessionsv1.CreateScheduleRequest) (*sessionsv1.Schedule, error) {
	want := proto.CloneOf(req.GetSchedule())
	if err := s.checkSchedule(ctx, want, s.chooseAgent); err != nil {
		return nil, err
	}
	or(&want.Id, ids.New(ids.Schedule))
	row, err := freshSchedule(ctx, want, s.store.NowUs())
	if err != nil {
		return nil, err
	}
	err = s.store.Write(ctx, func(tx *store.Tx) (err error) {
		row, err = s.addSchedule(ctx, tx, row)
		return err
	})
	if sqldb.IsUnique(err) {
		err = scheduleExists(row.ID)
	}
	if err != nil {
		return nil, err
	}
	s.clock.kick()
	return scheduleToProto(row, s.store.NowUs())
}

// freshSchedule is a new schedule of the caller's.
func freshSchedule(ctx context.Context, want *sessionsv1.Schedule, now int64) (store.Schedule, error) {
	row := store.Schedule{
		Tenant: authn.Tenant(ctx), ID: want.GetId(), Subject: authn.From(ctx).GetSubject(), Revision: 1, CreateUs: now, UpdateUs: now,
	}
	err := fillSchedule(ctx, &row, want)
	return row, err
}

// addSchedule stores a new schedule, if there may be one more, and gives it back as it is stored.
func (s *Service) addSchedule(ctx context.Context, tx *store.Tx, row store.Schedule) (store.Schedule, error) {
	old, err := tx.LockSchedule(ctx, row.Tenant, row.ID)
	missing := errors.Is(err, store.ErrNotFound)
	if err != nil && !missing {
		return row, err
	}
	if !missing && !old.Deleted {
		return row, scheduleExists(row.ID)
	}
	if err := s.mayAddSchedule(ctx, tx, row); err != nil {
		return row, err
	}
	if missing {
		return row, tx.AddSchedule(ctx, row)
	}
	row.Revision = old.Revision + 1 // Temporal is still to forget the old one: now it shall learn the new one
	if err := tx.DropFires(ctx, row.Tenant, row.ID); err != nil {
		return row, err
	}
	return row, tx.SaveSchedule(ctx, row)
}

// mayAddSchedule counts what there is already.
func (s *Service) mayAddSchedule(ctx context.Context, tx *store.Tx, row store.Schedule) error {
	count, own, err := tx.CountSchedules(ctx, row.Tenant, row.Subject)
	switch most := s.cfg.Schedules; {
	case err != nil:
		return err
	case own >= most.MaxPerUser:
		return fault.FailedPrecondition(faultv1.Reason_REASON_LIMIT_REACHED, "%q has %d schedules, as many as one user may have", row.Subject, own).
			Hint("Delete one, or raise sessions.schedules.max_per_user.")
	case count >= most.MaxSchedules:
		return fault.FailedPrecondition(faultv1.Reason_REASON_LIMIT_REACHED, "there are %d schedules, as many as there may be", count).
			Hint("Delete one, or raise sessions.schedules.max_schedules.")
	}
	return nil
}

func scheduleExists(id string) error {
	return fault.AlreadyExists("schedule %q exists already", id).Hint("Choose another id, or update the schedule.")
}

// fillSchedule takes over what an owner sets, and on whose behalf the turns run from now on.
func fillSchedule(ctx context.Context, row *store.Schedule, want *sessionsv1.Schedule) error {
	row.Paused, row.CheckUs = want.GetPaused(), 0
	data, err := proto.Marshal(ownPart(want))
	if err != nil {
		return fmt.Errorf("schedule %s: %w", row.ID, err)
	}
	row.Data = data
	if authn.From(ctx).GetSubject() != row.Subject {
		return nil
	}
	if row.Principal, err = proto.Marshal(authn.From(ctx)); err != nil {
		return fmt.Errorf("principal: %w", err)
	}
	return nil
}

// GetSchedule implements ScheduleService.
func (s *Service) GetSchedule(ctx context.Context, req *sessionsv1.GetScheduleRequest) (*sessionsv1.Schedule, error) {
	row, fires, err := s.scheduleWithFires(ctx, req.GetScheduleId(), recentFires)
	if err != nil {
		return nil, err
	}
	out, err := scheduleToProto(row, s.store.NowUs())
	for _, f := range fires {
		out.Recent = append(out.Recent, fireToProto(f))
	}
	return out, err
}

// ListSchedules implements ScheduleService.
func (s *Service) ListSchedules(ctx context.Context, req *sessionsv1.ListSchedulesRequest) (*sessionsv1.ListSchedulesResponse, error) {
	var after string
	list := "schedules|" + subject(ctx)
	size, err := page.Request(list, req.GetPageSize(), req.GetPageToken(), 50, &after)
	if err != nil {
		return nil, err
	}
	rows, err := s.store.Schedules(ctx, authn.Tenant(ctx), subject(ctx), after, size+1)
	if err != nil {
		return nil, err
	}
	rows, next := page.Trim(rows, size, list, func(v store.Schedule) any { return v.ID })
	out := &sessionsv1.ListSchedulesResponse{NextPageToken: next}
	for _, row := range rows {
		one, err := scheduleToProto(row, s.store.NowUs())
		if err != nil {
			return nil, err
		}
		out.Schedules = append(out.Schedules, one)
	}
	return out, nil
}

// UpdateSchedule implements ScheduleService.
func (s *Service) UpdateSchedule(ctx context.Context, req *sessionsv1.UpdateScheduleRequest) (*sessionsv1.Schedule, error) {
	row, err := s.schedule(ctx, req.GetSchedule().GetId())
	if err != nil {
		return nil, err
	}
	if r := int64(req.GetSchedule().GetRevision()); r != 0 && r != row.Revision {
		return nil, fault.Conflict("schedule %q is at revision %d, not %d", row.ID, row.Revision, r)
	}
	old, err := scheduleOf(row)
	if err != nil {
		return nil, err
	}
	now := proto.CloneOf(old)
	if err := changeSchedule(now, req.GetSchedule(), req.GetUpdateMask().GetPaths()); err != nil {
		return nil, err
	}
	if proto.Equal(now, old) {
		return scheduleToProto(row, s.store.NowUs())
	}
	if err := s.checkChange(ctx, row, old, now, s.chooseAgent); err != nil {
		return nil, err
	}
	return s.saveSchedule(ctx, row, now)
}

// checkChange checks a change of a schedule from old to now.
func (s *Service) checkChange(ctx context.Context, row store.Schedule, old, now *sessionsv1.Schedule, agent agentOf) error {
	if authn.From(ctx).GetSubject() != row.Subject && !sameWork(now, old) {
		return fault.FailedPrecondition(faultv1.Reason_REASON_FAILED_PRECONDITION,
			"only %q, who made the schedule, may change its agent, session, input or params: its turns run for him", row.Subject).
			Hint("Make a schedule of your own.")
	}
	if wrong := s.violations("schedule.", now); len(wrong) > 0 {
		return fault.InvalidFields(wrong)
	}
	if sameWork(now, old) { // what it does was checked when it came, perhaps by somebody who may see more
		return invalid(checkTimes(now))
	}
	return s.checkSchedule(ctx, now, agent)
}

// saveSchedule stores a change of a schedule that was read before.
func (s *Service) saveSchedule(ctx context.Context, seen store.Schedule, now *sessionsv1.Schedule) (*sessionsv1.Schedule, error) {
	var row store.Schedule
	err := s.store.Write(ctx, func(tx *store.Tx) (err error) {
		row, err = changeScheduleRow(ctx, tx, seen, now)
		return err
	})
	if err != nil {
		return nil, err
	}
	s.clock.kick()
	return scheduleToProto(row, s.store.NowUs())
}

// changeScheduleRow writes a change of a schedule, unless it was changed since it was read.
func changeScheduleRow(ctx context.Context, tx *store.Tx, seen store.Schedule, now *sessionsv1.Schedule) (store.Schedule, error) {
	row, err := tx.LockSchedule(ctx, seen.Tenant, seen.ID)
	if errors.Is(err, store.ErrNotFound) {
		return row, noSchedule(seen.ID)
	}
	if err != nil {
		return row, err
	}
	if row.Revision != seen.Revision {
		return row, fault.Conflict("schedule %q was changed meanwhile", seen.ID).Hint("Read it again, then send the change.")
	}
	if err := fillSchedule(ctx, &row, now); err != nil {
		return row, err
	}
	row.Revision++
	row.UpdateUs = tx.NowUs()
	return row, tx.SaveSchedule(ctx, row)
}

// PauseSchedule implements ScheduleService.
func (s *Service) PauseSchedule(ctx context.Context, req *sessionsv1.PauseScheduleRequest) (*sessionsv1.Schedule, error) {
	return s.setPaused(ctx, req.GetScheduleId(), true)
}

// ResumeSchedule implements ScheduleService.
func (s *Service) ResumeSchedule(ctx context.Context, req *sessionsv1.ResumeScheduleRequest) (*sessionsv1.Schedule, error) {
	return s.setPaused(ctx, req.GetScheduleId(), false)
}

func (s *Service) setPaused(ctx context.Context, id string, paused bool) (*sessionsv1.Schedule, error) {
	row, err := s.schedule(ctx, id)
	if err != nil {
		return nil, err
	}
	if row.Paused == paused {
		return scheduleToProto(row, s.store.NowUs())
	}
	now, err := scheduleOf(row)
	if err != nil {
		return nil, err
	}
	now.Paused = paused
	return s.saveSchedule(ctx, row, now)
}

// DeleteSchedule implements ScheduleService.
func (s *Service) DeleteSchedule(ctx context.Context, req *sessionsv1.DeleteScheduleRequest) (*sessionsv1.DeleteScheduleResponse, error) {
	seen, err := s.schedule(ctx, req.GetScheduleId())
	if err != nil {
		return nil, err
	}
	err = s.store.Write(ctx, func(tx *store.Tx) error {
		row, err := tx.LockSchedule(ctx, seen.Tenant, seen.ID)
		if err != nil || row.Deleted {
			return err
		}
		row.Deleted, row.CheckUs, row.Revision = true, 0, row.Revision+1
		if err := tx.DropFires(ctx, row.Tenant, row.ID); err != nil {
			return err
		}
		return tx.SaveSchedule(ctx, row)
	})
	if errors.Is(err, store.ErrNotFound) {
		err = noSchedule(seen.ID)
	}
	if err != nil {
		return nil, err
	}
	s.clock.kick()
	return &sessionsv1.DeleteScheduleResponse{}, nil
}
