package agents

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
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
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/registry/source"
)

// SessionID is the argument with the session to continue, which calls within turns do not have.
const SessionID = "session_id"

// Call starts a turn and waits for its end, or until it waits for people, or until the time is nearly up; the
// result has the ids by which the caller can go on. The keys of session and turn are derived from that of the call, so the same call again
// is the same turn.
func (d driver) Call(ctx context.Context, r *source.Request, _ func(source.Notice)) (source.Reply, error) {
	if r.Meta["windlass/turn_id"] != "" { // it would be neither cancelled nor limited with the turn
		return source.Reply{}, source.Unsent(fault.New(codes.FailedPrecondition, faultv1.Reason_REASON_FAILED_PRECONDITION,
			"a turn calls an agent in a child session, not through the registry"))
	}
	timeout := d.env.CallTimeout(r.Source)
	ctx, cancel := context.WithTimeout(authn.With(ctx, r.By.Principal), timeout)
	defer cancel()
	until := time.Now().Add(timeout * 9 / 10) // that it still works is an answer, which must arrive
	session, refused, err := d.session(ctx, r)
	if err != nil || refused != nil {
		return source.Reply{Result: refused}, err
	}
	message, _ := r.Arguments["message"].(string) // the schema has checked the types
	t, err := d.client.Turns.CreateTurn(ctx, &sessionsv1.CreateTurnRequest{
		SessionId: session, Input: message, IdempotencyKey: key(r.Key(), "turn"),
	})
	if err != nil {
		refused, err := answered(err, source.InDoubt)
		return source.Reply{Result: refused}, err
	}
	return source.Reply{Result: result(d.wait(ctx, t, until))}, nil
}

// key returns an idempotency key that is derived from that of the call.
func key(of, part string) string {
	sum := sha256.Sum256([]byte(of))
	return "tool-" + part + "-" + hex.EncodeToString(sum[:16])
}

// session returns the session to use, or a result that says why there is none.
func (d driver) session(ctx context.Context, r *source.Request) (string, *turnv1.ToolResult, error) {
	if id, ok := r.Arguments[SessionID].(string); ok {
		s, err := d.client.Sessions.GetSession(ctx, &sessionsv1.GetSessionRequest{SessionId: id})
		if err != nil {
			refused, err := answered(err, source.NotSent)
			return "", refused, err
		}
		if s.GetAgentId() != r.Tool {
			return "", source.Text(fmt.Sprintf("The session %q is not one of the agent %q.", id, r.Tool), true), nil
		}
		return id, nil, nil
	}
	req := &sessionsv1.CreateSessionRequest{AgentId: r.Tool, IdempotencyKey: key(r.Key(), "session")}
	if params, ok := r.Arguments["params"].(map[string]any); ok {
		req.Params = canon.Object(params).Struct()
	}
	s, err := d.client.Sessions.CreateSession(ctx, req)
	if err != nil {
		refused, err := answered(err, source.NotSent)
		return "", refused, err
	}
	return s.GetId(), nil, nil
}

// answered returns the result of a request that the sessions service has rejected, or the error of one whose outcome is unknown. A session
// without a turn is no effect: outcome is that of the call if the outcome of the request is unknown.
func answered(err error, outcome source.Outcome) (*turnv1.ToolResult, error) {
	f := fault.From(err)
	switch f.Code {
	case codes.InvalidArgument, codes.NotFound, codes.PermissionDenied, codes.Unauthenticated, codes.FailedPrecondition, codes.AlreadyExists,
		codes.ResourceExhausted, codes.Unimplemented, codes.OutOfRange:
		return source.Text(f.Text(), true), nil
	case codes.DeadlineExceeded:
		return nil, &source.Error{Outcome: outcome, Fault: fault.New(codes.DeadlineExceeded, faultv1.Reason_REASON_DEADLINE_EXCEEDED,
			"the agent was not started in time")}
	case codes.Canceled:
		return nil, &source.Error{Outcome: outcome, Fault: f}
	default:
		return nil, &source.Error{Outcome: outcome, Fault: fault.Unavailable(faultv1.Reason_REASON_TOOL_UNAVAILABLE,
			"the sessions service cannot be reached: %s", f.Message).Cause(err)}
	}
}

// pollWait is the longest wait of one request.
const pollWait = 30 * time.Second

// wait returns the turn as it is at the end of the wait. What breaks off is asked again.
func (d driver) wait(ctx context.Context, t *sessionsv1.Turn, until time.Time) *sessionsv1.Turn {
	pauses := (backoff.Policy{First: 50 * time.Millisecond, Max: 2 * time.Second}).Start()
	for !ended(t) && len(t.GetWaitingFor()) == 0 {
		left := min(time.Until(until), pollWait)
		if left <= 0 {
			return t
		}
		now, err := d.client.Turns.GetTurn(ctx, &sessionsv1.GetTurnRequest{TurnId: t.GetId(), Wait: durationpb.New(left)})
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

// cited is a citation of an answer, as results show it.
type cited struct {
	Number       int32  `json:"number"`
	BankID       string `json:"bank_id"`
	DocumentID   string `json:"document_id"`
	DocumentName string `json:"document_name"`
	Version      string `json:"version"`
	Start        int64  `json:"start"`
	End          int64  `json:"end"`
	Quote        string `json:"quote"`
}

// citedBy returns each number that the answer of a turn has, with what it stands for.
func citedBy(t *sessionsv1.Turn) (out []cited) {
	for _, c := range t.GetCitations() {
		if !slices.ContainsFunc(out, func(other cited) bool { return other.Number == c.GetNumber() }) {
			out = append(out, cited{
				c.GetNumber(), c.GetBankId(), c.GetDocumentId(), c.GetDocumentName(), c.GetVersion(), c.GetStart(), c.GetEnd(), c.GetQuote(),
			})
		}
	}
	return out
}

// result returns a turn as the result of a call.
func result(t *sessionsv1.Turn) *turnv1.ToolResult {
	view := struct {
		Output     string   `json:"output,omitempty"`
		Citations  []cited  `json:"citations,omitempty"`
		SessionID  string   `json:"session_id"`
		TurnID     string   `json:"turn_id"`
		AgentID    string   `json:"agent_id"`
		Status     string   `json:"status"`
		StopReason string   `json:"stop_reason,omitempty"`
		Error      string   `json:"error,omitempty"`
		WaitingFor []string `json:"waiting_for,omitempty"`
		Next       string   `json:"next,omitempty"`
	}{
		t.GetOutput(), citedBy(t), t.GetSessionId(), t.GetId(), t.GetAgentId(), enum.Name(t.GetStatus()), t.GetStopReason(),
		t.GetError().GetMessage(), t.GetWaitingFor(), "",
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
		return source.Text("The answer of the agent cannot be read.", true)
	}
	return &turnv1.ToolResult{
		IsError: ended(t) && t.GetStatus() != turnv1.TurnStatus_TURN_STATUS_COMPLETED, StructuredContent: v,
		Content: []*turnv1.ContentPart{{Part: &turnv1.ContentPart_Text{Text: string(text)}}},
	}
}
