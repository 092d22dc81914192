package turn

import (
	"context"

	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/windlass-dev/windlass/services/sessions/idempotency"
	"github.com/windlass-dev/windlass/services/sessions/schedule"
	"github.com/windlass-dev/windlass/services/sessions/session"
	"github.com/windlass-dev/windlass/services/sessions/store/scheduledb"
)

// scheduleLabel is the label of sessions that schedules open.
const scheduleLabel = "schedule"

// Scheduled starts the turns of schedules; it implements schedule.Turns.
type Scheduled struct{ *Service }

// CheckInput implements schedule.Turns.
func (s Scheduled) CheckInput(field, text string) error {
	_, err := s.deps.Input.Text(field, text)
	return err
}

// CheckSession implements schedule.Turns.
func (s Scheduled) CheckSession(ctx context.Context, id string) error {
	return s.deps.Access.CheckSession(ctx, id)
}

// CheckAgent implements schedule.Turns.
func (s Scheduled) CheckAgent(ctx context.Context, spec scheduledb.ScheduleSpec) (string, error) {
	agent, err := s.deps.Agents.Choose(ctx, spec.AgentID)
	if err != nil {
		return "", err
	}
	return agent.ID, s.deps.Sessions.CheckNew(ctx, agent, spec.Params, spec.Banks)
}

// Start implements schedule.Turns.
func (s Scheduled) Start(ctx context.Context, t schedule.Turn) (turnID, sessionID string, err error) {
	v, err := s.start(ctx, t)
	return v.ID, v.SessionID, err
}

func (s Scheduled) start(ctx context.Context, t schedule.Turn) (View, error) {
	once, err := idempotency.Of(ctx, "schedule_fire", t.Key, wrapperspb.String(t.ScheduleID))
	if err != nil {
		return View{}, err
	}
	if v, ok, err := s.earlier(ctx, once); err != nil || ok {
		return v, err
	}
	if err := t.Allowed(ctx); err != nil {
		return View{}, err
	}
	spec := Spec{Once: once, ScheduleID: t.ScheduleID}
	if spec.Content, err = s.deps.Input.Text("input", t.Spec.Input); err != nil {
		return View{}, err
	}
	if t.Spec.SessionID != "" {
		spec.Session, err = s.deps.Access.Session(ctx, t.Spec.SessionID)
	} else {
		spec.Fresh = true
		spec.Session, err = s.deps.Sessions.New(ctx, session.Spec{
			AgentID: t.Spec.AgentID, Title: t.Spec.DisplayName, Labels: map[string]string{scheduleLabel: t.ScheduleID}, Params: t.Spec.Params,
			Banks: t.Spec.Banks,
		})
	}
	if err != nil {
		return View{}, err
	}
	return s.Accept(ctx, spec)
}
