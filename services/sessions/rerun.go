package sessions

import (
	"context"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	executionv1 "github.com/windlass-dev/windlass/proto/gen/windlass/execution/v1"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	"github.com/windlass-dev/windlass/services/sessions/api/convert"
	"github.com/windlass-dev/windlass/services/sessions/idempotency"
	"github.com/windlass-dev/windlass/services/sessions/rerun"
	"github.com/windlass-dev/windlass/services/sessions/session"
	"github.com/windlass-dev/windlass/services/sessions/store"
)

// rerunTurns implements rerun.Turns.
type rerunTurns struct{ s *Service }

// Turn implements rerun.Turns.
func (r rerunTurns) Turn(ctx context.Context, id string) (store.Turn, store.Session, error) {
	return r.s.access.Turn(ctx, id)
}

// NewSession implements rerun.Turns.
func (r rerunTurns) NewSession(ctx context.Context, from store.Session, agentID string, params *structpb.Struct) (store.Session, error) {
	return r.s.sessions.ForkOf(ctx, from, session.Spec{AgentID: agentID, Params: params})
}

// CheckSession implements rerun.Turns.
func (r rerunTurns) CheckSession(ctx context.Context, id string) error {
	return r.s.access.CheckSession(ctx, id)
}

// CheckModel implements rerun.Turns.
func (r rerunTurns) CheckModel(ctx context.Context, name string) error {
	return r.s.checkModel(ctx, name)
}

// RerunTurn implements TurnService.
func (s *Service) RerunTurn(ctx context.Context, req *sessionsv1.RerunTurnRequest) (*sessionsv1.Turn, error) {
	bare := proto.CloneOf(req)
	bare.IdempotencyKey = ""
	once, err := idempotency.Of(ctx, "rerun_turn", req.GetIdempotencyKey(), bare)
	if err != nil {
		return nil, err
	}
	if t, ok, err := s.before(ctx, once); err != nil || ok {
		return t, err
	}
	p, err := s.reruns.Plan(ctx, rerun.Request{
		TurnID: req.GetTurnId(), AgentID: req.GetAgentId(), Params: req.GetParams(), FromStep: req.GetFromStep(), Tools: req.GetTools(),
		Missing: req.GetMissing(), Model: req.GetModel(),
	})
	if err != nil {
		return nil, err
	}
	return s.accept(ctx, order{
		session: p.Copy.Session, fresh: true, copy: p.Copy, content: p.Input.GetContent(), from: p.Input.GetFromAgent(), tools: p.ClientTools,
		rerun: p, once: once, limits: req.GetLimits(),
	})
}

// CompareTurns implements TurnService.
func (s *Service) CompareTurns(ctx context.Context, req *sessionsv1.CompareTurnsRequest) (*sessionsv1.TurnComparison, error) {
	a, left, err := s.comparable(ctx, req.GetTurnId())
	if err != nil {
		return nil, err
	}
	b, right, err := s.comparable(ctx, req.GetWith())
	if err != nil {
		return nil, err
	}
	c, err := s.reruns.Compare(ctx, a, b)
	if err != nil {
		return nil, err
	}
	left.Steps, right.Steps = uint32(c.StepsA), uint32(c.StepsB)
	return &sessionsv1.TurnComparison{
		A: left, B: right, Tools: convert.ComparedCalls(c.Calls), Answer: &sessionsv1.ComparedAnswer{Same: c.SameAnswer, Diff: c.Diff},
	}, nil
}

// comparable reads a turn of the caller's for a comparison.
func (s *Service) comparable(ctx context.Context, id string) (rerun.Compared, *sessionsv1.ComparedTurn, error) {
	row, ses, err := s.access.Turn(ctx, id)
	if err != nil {
		return rerun.Compared{}, nil, err
	}
	t, err := s.withInput(ctx, row)
	if err != nil {
		return rerun.Compared{}, nil, err
	}
	out := &sessionsv1.ComparedTurn{
		TurnId: t.GetId(), SessionId: t.GetSessionId(), AgentId: t.GetAgentId(), BlueprintRevision: t.GetBlueprintRevision(), Model: t.GetModel(),
		Status: t.GetStatus(), StopReason: t.GetStopReason(), Usage: t.GetUsage(), RerunOf: t.GetRerunOf(),
	}
	if row.StartUs != 0 && row.EndUs != 0 {
		out.DurationMs = (row.EndUs - row.StartUs) / 1000
	}
	return rerun.Compared{Turn: row, Session: ses, Answer: t.GetOutput(), Rerun: t.GetRerunOf() != ""}, out, nil
}

// GetRecording implements ExecutionService.
func (s *Service) GetRecording(ctx context.Context, req *executionv1.GetRecordingRequest) (*executionv1.GetRecordingResponse, error) {
	t, ses, err := s.access.Turn(ctx, req.GetTurnId())
	if err != nil {
		return nil, err
	}
	result, err := s.reruns.Recording(ctx, t, ses, req.GetMessageId(), req.GetCallId())
	if err != nil {
		return nil, err
	}
	return &executionv1.GetRecordingResponse{Result: result}, nil
}
