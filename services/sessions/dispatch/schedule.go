package dispatch

import (
	"context"
	"errors"
	"fmt"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"github.com/windlass-dev/windlass/libs/cron"
	"github.com/windlass-dev/windlass/services/sessions/schedule"
	"github.com/windlass-dev/windlass/workflows/contract"
)

// PutSchedule implements schedule.Calendars. The note in Temporal's schedule says whether it is up to date.
func (d *Temporal) PutSchedule(ctx context.Context, t schedule.Timetable) error {
	id := contract.ScheduleID(t.Tenant, t.ScheduleID)
	handle := d.schedules.GetHandle(ctx, id)
	now, err := handle.Describe(ctx)
	if _, missing := errors.AsType[*serviceerror.NotFound](err); missing {
		return d.makeSchedule(ctx, id, t)
	}
	if err != nil && d.cfg.Refused != nil && d.cfg.Refused(err) { // of a time without encryption: its workflows would do nothing
		if err := d.DropSchedule(ctx, t.Tenant, t.ScheduleID); err != nil {
			return err
		}
		return d.makeSchedule(ctx, id, t)
	}
	if err != nil {
		return fmt.Errorf("describe schedule %s: %w", id, err)
	}
	if state := now.Schedule.State; state != nil && state.Note == note(t) && state.Paused == t.Paused {
		return nil
	}
	err = handle.Update(ctx, client.ScheduleUpdateOptions{
		DoUpdate: func(client.ScheduleUpdateInput) (*client.ScheduleUpdate, error) {
			return &client.ScheduleUpdate{Schedule: &client.Schedule{
				Action: action(t), Spec: spec(t),
				Policy: &client.SchedulePolicies{Overlap: overlap, CatchupWindow: t.CatchUp},
				State:  &client.ScheduleState{Note: note(t), Paused: t.Paused},
			}}, nil
		},
	})
	if err != nil {
		return fmt.Errorf("update schedule %s: %w", id, err)
	}
	return nil
}

func (d *Temporal) makeSchedule(ctx context.Context, id string, t schedule.Timetable) error {
	_, err := d.schedules.Create(ctx, client.ScheduleOptions{
		ID: id, Spec: *spec(t), Action: action(t), Overlap: overlap, CatchupWindow: t.CatchUp, Note: note(t), Paused: t.Paused,
	})
	if err != nil {
		return fmt.Errorf("create schedule %s: %w", id, err)
	}
	return nil
}

// DropSchedule implements schedule.Calendars.
func (d *Temporal) DropSchedule(ctx context.Context, tenant, id string) error {
	id = contract.ScheduleID(tenant, id)
	err := d.schedules.GetHandle(ctx, id).Delete(ctx)
	if _, missing := errors.AsType[*serviceerror.NotFound](err); err != nil && !missing {
		return fmt.Errorf("delete schedule %s: %w", id, err)
	}
	return nil
}

// overlap keeps one fire back while the one before is being reported to the sessions service, which decides what turns do about each other.
const overlap = enums.SCHEDULE_OVERLAP_POLICY_BUFFER_ONE

// note names what Temporal's schedule was made of. It changes with its text too, which updates the schedules of earlier versions.
func note(t schedule.Timetable) string {
	return fmt.Sprintf("Managed by Windlass (schedule %s, agent %s, revision %d): change it there.", t.ScheduleID, t.AgentID, t.Revision)
}

func action(t schedule.Timetable) *client.ScheduleWorkflowAction {
	return &client.ScheduleWorkflowAction{
		ID: contract.ScheduleID(t.Tenant, t.ScheduleID), Workflow: contract.ScheduleWorkflow, TaskQueue: contract.TaskQueue,
		Args:                     []any{contract.ScheduleInput{Tenant: t.Tenant, ScheduleID: t.ScheduleID}},
		WorkflowExecutionTimeout: t.CatchUp, WorkflowTaskTimeout: contract.TaskTimeout,
		StaticSummary:         fmt.Sprintf("schedule %s, agent %s", t.ScheduleID, t.AgentID),
		TypedSearchAttributes: temporal.NewSearchAttributes(temporal.NewSearchAttributeKeyKeyword(contract.AttributeTenant).ValueSet(t.Tenant)),
	}
}

func spec(t schedule.Timetable) *client.ScheduleSpec {
	if len(t.Calendars) == 0 {
		return &client.ScheduleSpec{Intervals: []client.ScheduleIntervalSpec{{Every: t.Every}}}
	}
	out := &client.ScheduleSpec{TimeZoneName: t.Zone}
	for _, c := range t.Calendars {
		out.Calendars = append(out.Calendars, client.ScheduleCalendarSpec{
			Minute: ranges(c.Minute), Hour: ranges(c.Hour), DayOfMonth: ranges(c.DayOfMonth), Month: ranges(c.Month), DayOfWeek: ranges(c.DayOfWeek),
		})
	}
	return out
}

func ranges(in []cron.Range) []client.ScheduleRange {
	out := make([]client.ScheduleRange, len(in))
	for i, r := range in {
		out[i] = client.ScheduleRange{Start: r.From, End: r.To}
	}
	return out
}
