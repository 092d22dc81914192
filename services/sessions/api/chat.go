package api

import (
	"context"
	"time"

	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/sessions/api/convert"
	"github.com/windlass-dev/windlass/services/sessions/idempotency"
	"github.com/windlass-dev/windlass/services/sessions/turn"
)

// Chat implements TurnService.
func (s *Turns) Chat(ctx context.Context, req *sessionsv1.ChatRequest) (*sessionsv1.ChatResponse, error) {
	began := time.Now()
	once, err := idempotency.OfRequest(ctx, "chat", req, "wait")
	if err != nil {
		return nil, err
	}
	v, err := s.deps.Turns.Chat(ctx, turn.Chat{
		Message: req.GetMessage(), SessionID: req.GetSessionId(), AgentID: req.GetAgentId(), Params: req.GetParams(), Once: once,
		Banks: req.GetBanks(), WithoutMemory: req.GetWithoutMemory(),
	})
	if err != nil {
		return nil, err
	}
	wait := s.deps.Watcher.maxWait
	if req.GetWait() != nil {
		wait = min(wait, req.GetWait().AsDuration())
	}
	t := convert.TurnToProto(v)
	for more := wait > 0; more && t.GetEndTime() == nil && len(t.GetWaitingFor()) == 0; {
		if more, err = s.deps.Watcher.awaitAnswer(ctx, v.Turn, wait-time.Since(began)); err != nil {
			return nil, err
		}
		if t, _, err = s.current(ctx, v.Tenant, v.ID); err != nil { // people may have decided already: then it goes on
			return nil, err
		}
	}
	out := &sessionsv1.ChatResponse{
		Answer: t.GetOutput(), ToolsUsed: t.GetToolsUsed(), LatencyMs: int32(time.Since(began).Milliseconds()),
		SessionId: t.GetSessionId(), TurnId: t.GetId(), Status: t.GetStatus(), StopReason: t.GetStopReason(),
		Error: t.GetError(), Usage: t.GetUsage(), LimitReached: t.GetLimitReached(), WaitingFor: t.GetWaitingFor(),
	}
	if t.GetEndTime() == nil && t.GetStatus() != turnv1.TurnStatus_TURN_STATUS_WAITING {
		out.Status = turnv1.TurnStatus_TURN_STATUS_RUNNING
	}
	return out, nil
}
