package orchestrator

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/windlass-dev/windlass/libs/canon"
	"github.com/windlass-dev/windlass/libs/enum"
	"github.com/windlass-dev/windlass/libs/fault"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
)

// turnView is a turn as models read it.
type turnView struct {
	TurnID     string   `json:"turn_id"`
	SessionID  string   `json:"session_id"`
	AgentID    string   `json:"agent_id"`
	Status     string   `json:"status"`
	Output     string   `json:"output,omitempty"`
	StopReason string   `json:"stop_reason,omitempty"`
	Error      string   `json:"error,omitempty"`
	ToolsUsed  []string `json:"tools_used,omitempty"`
	WaitingFor []string `json:"waiting_for,omitempty"`
	AnswerAt   string   `json:"answer_at,omitempty"`
	Next       string   `json:"next,omitempty"`
}

func (o *Orchestrator) viewOf(t *sessionsv1.Turn) turnView {
	v := turnView{
		TurnID: t.GetId(), SessionID: t.GetSessionId(), AgentID: t.GetAgentId(), Status: enum.Name(t.GetStatus()), Output: t.GetOutput(),
		StopReason: t.GetStopReason(), Error: t.GetError().GetMessage(), ToolsUsed: t.GetToolsUsed(), WaitingFor: t.GetWaitingFor(),
	}
	switch {
	case len(v.WaitingFor) > 0:
		v.AnswerAt = o.inbox
		v.Next = "A person must approve or answer first: show them what list_approvals returns, and call decide_approval with their decision"
		if o.inbox != "" {
			v.Next += ", or give them the link answer_at"
		}
		v.Next += ". Then call wait_for_turn."
	case !ended(t):
		v.Next = "It is still at work. Call wait_for_turn."
	}
	return v
}

func ended(t *sessionsv1.Turn) bool {
	switch t.GetStatus() {
	case turnv1.TurnStatus_TURN_STATUS_COMPLETED, turnv1.TurnStatus_TURN_STATUS_FAILED, turnv1.TurnStatus_TURN_STATUS_CANCELLED:
		return true
	default:
		return false
	}
}

// wait waits until a turn ends or waits for people, at most for the given seconds.
func (o *Orchestrator) wait(ctx context.Context, turnID string, seconds float64) (any, error) {
	until := time.Now().Add(min(time.Duration(max(seconds, 0)*float64(time.Second)), maxWait))
	for {
		left := min(time.Until(until), pollWait)
		t, err := o.turns.GetTurn(ctx, &sessionsv1.GetTurnRequest{TurnId: turnID, Wait: durationpb.New(max(left, 0))})
		if err != nil {
			return nil, err
		}
		if ended(t) || len(t.GetWaitingFor()) > 0 || !time.Now().Before(until) {
			return o.viewOf(t), nil
		}
	}
}

func startSession(ctx context.Context, o *Orchestrator, c Call) (any, error) {
	args, err := read[struct {
		AgentID string          `json:"agent_id"`
		Message string          `json:"message"`
		Title   string          `json:"title"`
		Params  json.RawMessage `json:"params"`
		Wait    float64         `json:"wait_seconds"`
	}](c)
	if err != nil {
		return nil, err
	}
	var params *structpb.Struct
	if len(args.Params) > 0 && string(args.Params) != "null" {
		if params, err = canon.ParseStruct(args.Params); err != nil {
			return nil, fault.Invalid("params", "are no JSON object: %v", err)
		}
	}
	req, err := o.child(ctx, c, args.AgentID, params)
	if err != nil {
		return nil, err
	}
	req.Title = args.Title
	s, err := o.sessions.CreateSession(ctx, req)
	if err != nil {
		return nil, err
	}
	return o.send(ctx, s.GetId(), args.Message, "", c.key("turn"), args.Wait)
}

func sendMessage(ctx context.Context, o *Orchestrator, c Call) (any, error) {
	args, err := read[struct {
		SessionID string  `json:"session_id"`
		Message   string  `json:"message"`
		Mode      string  `json:"mode"`
		Wait      float64 `json:"wait_seconds"`
	}](c)
	if err != nil {
		return nil, err
	}
	return o.send(ctx, args.SessionID, args.Message, args.Mode, c.key("turn"), args.Wait)
}

func (o *Orchestrator) send(ctx context.Context, session, message, mode, key string, wait float64) (any, error) {
	t, err := o.turns.CreateTurn(ctx, &sessionsv1.CreateTurnRequest{SessionId: session, Input: message, Mode: mode, IdempotencyKey: key})
	if err != nil {
		return nil, err
	}
	return o.wait(ctx, t.GetId(), wait)
}

func waitForTurn(ctx context.Context, o *Orchestrator, c Call) (any, error) {
	args, err := read[struct {
		TurnID string   `json:"turn_id"`
		Wait   *float64 `json:"wait_seconds"`
	}](c)
	if err != nil {
		return nil, err
	}
	seconds := float64(60)
	if args.Wait != nil {
		seconds = *args.Wait
	}
	return o.wait(ctx, args.TurnID, seconds)
}

func cancelTurn(ctx context.Context, o *Orchestrator, c Call) (any, error) {
	args, err := read[struct {
		TurnID string `json:"turn_id"`
		Reason string `json:"reason"`
	}](c)
	if err != nil {
		return nil, err
	}
	t, err := o.turns.CancelTurn(ctx, &sessionsv1.CancelTurnRequest{TurnId: args.TurnID, Reason: args.Reason})
	if err != nil {
		return nil, err
	}
	return o.viewOf(t), nil
}

// Limits of the events that one call reads.
const (
	maxEvents     = 200
	maxEventBytes = 64 << 10
	eventsPause   = 2 * time.Second
)

// eventsView are events of a turn.
type eventsView struct {
	Events []json.RawMessage `json:"events"`
	Cursor string            `json:"cursor,omitempty"`
	Ended  bool              `json:"ended"`
}

func readEvents(ctx context.Context, o *Orchestrator, c Call) (any, error) {
	args, err := read[struct {
		TurnID string `json:"turn_id"`
		After  string `json:"after"`
	}](c)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, eventsPause)
	defer cancel()
	stream, err := o.turns.WatchTurn(ctx, &sessionsv1.WatchTurnRequest{TurnId: args.TurnID, After: args.After})
	view, size := eventsView{Events: []json.RawMessage{}, Cursor: args.After}, 0
	for err == nil && len(view.Events) < maxEvents && size < maxEventBytes {
		var m *sessionsv1.WatchTurnResponse
		if m, err = stream.Recv(); err != nil {
			break
		}
		if m.GetEvent().GetDelta() > 0 { // its message follows
			continue
		}
		text, err := canon.Marshal(protojson.MarshalOptions{UseProtoNames: true}, m.GetEvent())
		if err != nil {
			return nil, fault.Internal(err)
		}
		view.Events, size = append(view.Events, text), size+len(text)
		if m.GetCursor() != "" {
			view.Cursor = m.GetCursor()
		}
	}
	switch {
	case errors.Is(err, io.EOF):
		view.Ended = true
	case err != nil && fault.From(err).Code != codes.DeadlineExceeded: // nothing more has happened yet
		return nil, err
	}
	return view, nil
}
