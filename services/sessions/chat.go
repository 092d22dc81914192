package sessions

import (
	"context"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/enum"
	"github.com/windlass-dev/windlass/libs/fault"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/sessions/idempotency"
	"github.com/windlass-dev/windlass/services/sessions/session"
)

// Chat implements TurnService.
func (s *Service) Chat(ctx context.Context, req *sessionsv1.ChatRequest) (*sessionsv1.ChatResponse, error) {
	began := time.Now()
	turn, err := s.chatTurn(ctx, req)
	if err != nil {
		return nil, err
	}
	wait := s.cfg.ChatWait
	if req.GetWait() != nil {
		wait = min(wait, req.GetWait().AsDuration())
	}
	for more := wait > 0; more && turn.GetEndTime() == nil && len(turn.GetWaitingFor()) == 0; {
		t, err := s.store.Turn(ctx, authn.Tenant(ctx), turn.GetId())
		if err != nil {
			return nil, err
		}
		if more, err = s.awaitAnswer(ctx, t, wait-time.Since(began)); err != nil {
			return nil, err
		}
		if turn, err = s.standing(ctx, t); err != nil { // people may have decided already: then it goes on
			return nil, err
		}
	}
	out := &sessionsv1.ChatResponse{
		Answer: turn.GetOutput(), ToolsUsed: turn.GetToolsUsed(), LatencyMs: int32(time.Since(began).Milliseconds()),
		SessionId: turn.GetSessionId(), TurnId: turn.GetId(), Status: turn.GetStatus(), StopReason: turn.GetStopReason(),
		Error: turn.GetError(), Usage: turn.GetUsage(), LimitReached: turn.GetLimitReached(), WaitingFor: turn.GetWaitingFor(),
	}
	if turn.GetEndTime() == nil && turn.GetStatus() != enum.Name(turnv1.TurnStatus_TURN_STATUS_WAITING) {
		out.Status = "running"
	}
	return out, nil
}

// chatTurn accepts the message as a turn of the named session, or of a new one that is made with it.
func (s *Service) chatTurn(ctx context.Context, req *sessionsv1.ChatRequest) (*sessionsv1.Turn, error) {
	content, err := s.checkText("message", req.GetMessage())
	if err != nil {
		return nil, err
	}
	if blank(req.GetMessage()) {
		return nil, fault.Invalid("message", "is nothing but space: say something")
	}
	bare := proto.CloneOf(req)
	bare.IdempotencyKey, bare.Wait = "", nil
	once, err := idempotency.Of(ctx, "chat", req.GetIdempotencyKey(), bare)
	if err != nil {
		return nil, err
	}
	if t, ok, err := s.before(ctx, once); err != nil || ok {
		return t, err
	}
	o := order{content: content, once: once, fresh: req.GetSessionId() == ""}
	if o.fresh {
		o.session, err = s.sessions.New(ctx, session.Spec{AgentID: req.GetAgentId(), Title: "", Labels: nil, Params: req.GetParams()})
	} else if req.GetParams() != nil {
		err = fault.Invalid("params", "the session has its params already: leave them out, or open a new session")
	} else if o.session, err = s.access.Session(ctx, req.GetSessionId()); err == nil && req.GetAgentId() != "" && req.GetAgentId() != o.session.AgentID {
		err = fault.Invalid("agent_id", "the session is one with agent %q", o.session.AgentID)
	}
	if err != nil {
		return nil, err
	}
	return s.accept(ctx, o)
}
