package sessions

import (
	"context"
	"time"

	"google.golang.org/protobuf/types/known/structpb"

	executionv1 "github.com/windlass-dev/windlass/proto/gen/windlass/execution/v1"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	"github.com/windlass-dev/windlass/services/sessions/idempotency"
	"github.com/windlass-dev/windlass/services/sessions/schedule"
	"github.com/windlass-dev/windlass/services/sessions/session"
	"github.com/windlass-dev/windlass/services/sessions/store"
)

// scheduleLabel is the label of sessions that schedules open.
const scheduleLabel = "schedule"

// scheduledTurns implements schedule.Turns.
type scheduledTurns struct{ *Service }

// CheckInput implements schedule.Turns.
func (s scheduledTurns) CheckInput(field, text string) error {
	_, err := s.checkText(field, text)
	return err
}

// CheckSession implements schedule.Turns.
func (s scheduledTurns) CheckSession(ctx context.Context, id string) error {
	return s.access.CheckSession(ctx, id)
}

// CheckAgent implements schedule.Turns.
func (s scheduledTurns) CheckAgent(ctx context.Context, id string, params *structpb.Struct) (string, error) {
	agent, err := s.agents.Choose(ctx, id)
	if err != nil {
		return "", err
	}
	return agent.ID, s.checkParams(ctx, agent, params)
}

// checkParams checks that the caller could open a session with an agent and params.
func (s *Service) checkParams(ctx context.Context, agent store.Agent, params *structpb.Struct) error {
	_, err := s.sessions.NewWith(ctx, agent, session.Spec{Params: params})
	return err
}

// Start implements schedule.Turns.
func (s scheduledTurns) Start(ctx context.Context, t schedule.Turn) (turnID, sessionID string, err error) {
	turn, err := s.startScheduled(ctx, t)
	return turn.GetId(), turn.GetSessionId(), err
}

func (s *Service) startScheduled(ctx context.Context, t schedule.Turn) (*sessionsv1.Turn, error) {
	once, err := idempotency.Of(ctx, "schedule_fire", t.Key, &sessionsv1.GetScheduleRequest{ScheduleId: t.ScheduleID})
	if err != nil {
		return nil, err
	}
	if earlier, ok, err := s.before(ctx, once); err != nil || ok {
		return earlier, err
	}
	if err := t.Allowed(ctx); err != nil {
		return nil, err
	}
	o := order{once: once, clock: t.ScheduleID}
	if o.content, err = s.checkText("input", t.Spec.Input); err != nil {
		return nil, err
	}
	if t.Spec.SessionID != "" {
		o.session, err = s.access.Session(ctx, t.Spec.SessionID)
	} else {
		o.fresh = true
		o.session, err = s.sessions.New(ctx, session.Spec{AgentID: t.Spec.AgentID, Title: t.Spec.DisplayName, Labels: map[string]string{scheduleLabel: t.ScheduleID}, Params: t.Spec.Params})
	}
	if err != nil {
		return nil, err
	}
	return s.accept(ctx, o)
}

// FireSchedule implements ExecutionService.
func (s *Service) FireSchedule(ctx context.Context, req *executionv1.FireScheduleRequest) (*executionv1.FireScheduleResponse, error) {
	f, err := s.schedules.Fire(ctx, req.GetTenant(), req.GetScheduleId(), time.UnixMicro(req.GetDueMicros()))
	if err != nil {
		return nil, err
	}
	return &executionv1.FireScheduleResponse{Outcome: string(f.Outcome), TurnId: f.TurnID}, nil
}
