package agents

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/backoff"
	"github.com/windlass-dev/windlass/libs/canon"
	"github.com/windlass-dev/windlass/libs/enum"
	"github.com/windlass-dev/windlass/libs/fault"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	policyv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policy/v1"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
)

// SessionID is the argument with the session to continue, which calls within turns do not have.
const SessionID = "session_id"

// Call is one call.
type Call struct {
	// Agent is the id of the agent.
	Agent string
	// Args fit the tool's schema.
	Args canon.Object
	// Principal is on whose behalf the call is made. Key identifies it across its attempts.
	Principal *policyv1.Principal
	Key       string
	// Timeout bounds the call.
	Timeout time.Duration
}

// Error is a call without a result.
type Error struct {
	// Sent is false if no turn was started, for certain.
	Sent bool
	// Fault says why.
	Fault *fault.Error
}

// Error returns the fault's text.
func (e *Error) Error() string { return e.Fault.Error() }

// Unwrap returns the fault.
func (e *Error) Unwrap() error { return e.Fault }

// Call starts a turn and waits for its end, or until it waits for people, or until the time is nearly up; the result has the ids by which
// the caller can go on. The keys of session and turn are derived from that of the call, so the same call again is the same turn. The error
// is an *Error.
func (c Client) Call(ctx context.Context, call Call) (*turnv1.ToolResult, error) {
	ctx, cancel := context.WithTimeout(authn.With(ctx, call.Principal), call.Timeout)
	defer cancel()
	until := time.Now().Add(call.Timeout * 9 / 10) // that it still works is an answer, which must arrive
	session, refused, err := c.session(ctx, call)
	if err != nil || refused != nil {
		return refused, err
	}
	message, _ := call.Args["message"].(string) // the schema has checked the types
	t, err := c.Turns.CreateTurn(ctx, &sessionsv1.CreateTurnRequest{SessionId: session, Input: message, IdempotencyKey: key(call.Key, "turn")})
	if err != nil {
		return answered(err, true)
	}
	return result(c.wait(ctx, t, until)), nil
}

// key returns an idempotency key that is derived from that of the call.
func key(of, part string) string {
	sum := sha256.Sum256([]byte(of))
	return "tool-" + part + "-" + hex.EncodeToString(sum[:16])
}

// session returns the session to use, or a result that says why there is none.
func (c Client) session(ctx context.Context, call Call) (string, *turnv1.ToolResult, error) {
	if id, ok := call.Args[SessionID].(string); ok {
		s, err := c.Sessions.GetSession(ctx, &sessionsv1.GetSessionRequest{SessionId: id})
		if err != nil {
			refused, err := answered(err, false)
			return "", refused, err
		}
		if s.GetAgentId() != call.Agent {
			return "", said(fmt.Sprintf("The session %q is not one of the agent %q.", id, call.Agent)), nil
		}
		return id, nil, nil
	}
	req := &sessionsv1.CreateSessionRequest{AgentId: call.Agent, IdempotencyKey: key(call.Key, "session")}
	if params, ok := call.Args["params"].(map[string]any); ok {
		req.Params = canon.Object(params).Struct()
	}
	s, err := c.Sessions.CreateSession(ctx, req)
	if err != nil {
		refused, err := answered(err, false)
		return "", refused, err
	}
	return s.GetId(), nil, nil
}

// answered returns the result of a request that the sessions service has rejected, or the error of one whose outcome is unknown. A session
// without a turn is no effect; started says whether the request was to start a turn.
func answered(err error, started bool) (*turnv1.ToolResult, error) {
	f := fault.From(err)
	switch f.Code {
	case codes.InvalidArgument, codes.NotFound, codes.PermissionDenied, codes.Unauthenticated, codes.FailedPrecondition, codes.AlreadyExists,
		codes.ResourceExhausted, codes.Unimplemented, codes.OutOfRange:
		return said(f.Text()), nil
	case codes.DeadlineExceeded:
		return nil, &Error{Sent: started, Fault: fault.New(codes.DeadlineExceeded, faultv1.Reason_REASON_DEADLINE_EXCEEDED,
			"the agent was not started in time")}
	case codes.Canceled:
		return nil, &Error{Sent: started, Fault: f}
	default:
		return nil, &Error{Sent: started, Fault: fault.Unavailable(faultv1.Reason_REASON_TOOL_UNAVAILABLE,
			"the sessions service cannot be reached: %s", f.Message).Cause(err)}
	}
}

// pollWait is the longest wait of one request.
const pollWait = 30 * time.Second

// wait returns the turn as it is at the end of the wait. What breaks off is asked again.
func (c Client) wait(ctx context.Context, t *sessionsv1.Turn, until time.Time) *sessionsv1.Turn {
	pauses := (backoff.Policy{First: 50 * time.Millisecond, Max: 2 * time.Second}).Start()
	for !ended(t) && len(t.GetWaitingFor()) == 0 {
		left := min(time.Until(until), pollWait)
		if left <= 0 {
			return t
		}
		now, err := c.Turns.GetTurn(ctx, &sessionsv1.GetTurnRequest{TurnId: t.GetId(), Wait: durationpb.New(left)})
		switch {
		case err == nil:
			t = now
			pauses.Reset()
		case ctx.Err() != nil || fault.Refused(err) || pauses.Wait(ctx) != nil:
			return t
		}
	}
	return t
}

func ended(t *sessionsv1.Turn) bool {
	switch t.GetStatus() {
	case turnv1.TurnStatus_TURN_STATUS_COMPLETED, turnv1.TurnStatus_TURN_STATUS_FAILED, turnv1.TurnStatus_TURN_STATUS_CANCELLED:
		return true
	default:
		return false
	}
}

// result returns a turn as the result of a call.
func result(t *sessionsv1.Turn) *turnv1.ToolResult {
	view := struct {
		Output     string   `json:"output,omitempty"`
		SessionID  string   `json:"session_id"`
		TurnID     string   `json:"turn_id"`
		AgentID    string   `json:"agent_id"`
		Status     string   `json:"status"`
		StopReason string   `json:"stop_reason,omitempty"`
		Error      string   `json:"error,omitempty"`
		WaitingFor []string `json:"waiting_for,omitempty"`
		Next       string   `json:"next,omitempty"`
	}{
		t.GetOutput(), t.GetSessionId(), t.GetId(), t.GetAgentId(), enum.Name(t.GetStatus()), t.GetStopReason(), t.GetError().GetMessage(),
		t.GetWaitingFor(), "",
	}
	switch {
	case len(view.WaitingFor) > 0:
		view.Next = "A person must approve or answer first. Read the turn later."
	case !ended(t):
		view.Next = "It is still at work. Read the turn later."
	}
	text, err := json.Marshal(view)
	v := &structpb.Value{}
	if err = errors.Join(err, v.UnmarshalJSON(text)); err != nil {
		return said("The answer of the agent cannot be read.")
	}
	return &turnv1.ToolResult{
		IsError: ended(t) && t.GetStatus() != turnv1.TurnStatus_TURN_STATUS_COMPLETED, StructuredContent: v,
		Content: []*turnv1.ContentPart{{Part: &turnv1.ContentPart_Text{Text: string(text)}}},
	}
}

func said(text string) *turnv1.ToolResult {
	return &turnv1.ToolResult{IsError: true, Content: []*turnv1.ContentPart{{Part: &turnv1.ContentPart_Text{Text: text}}}}
}
