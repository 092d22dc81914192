package step

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/faultpoint"
	"github.com/windlass-dev/windlass/libs/ids"
	"github.com/windlass-dev/windlass/libs/tokens"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	registryv1 "github.com/windlass-dev/windlass/proto/gen/windlass/registry/v1"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/workflows/contract"
)

// tool runs one call. The registry asks policy, keeps the ledger and decides what may be repeated; the key makes a repeated call the
// same call for it.
type tool struct{ *Runner }

func (t tool) prepare(ctx context.Context, w *work) (err error) {
	if w.loaded == nil {
		if w.loaded, err = t.load(ctx, w.turn.TurnID); err != nil {
			return err
		}
	}
	if w.call, err = t.toolCall(ctx, w.turn.TurnID, w.ref.GetCall()); err != nil {
		return err
	}
	w.callHash = contract.CallHash(w.call)
	return nil
}

func (t tool) do(ctx context.Context, w *work) (*sessionsv1.CommitStepRequest, error) {
	if w.cancelled {
		return t.endCancelled(ctx, w)
	}
	refusal, found, err := t.shieldCall(ctx, w)
	switch {
	case err != nil:
		return nil, err
	case refusal != "":
		return t.committed(w, refused(w, codeShield, refusal), found), nil
	}
	req, err := t.doRound(ctx, w)
	if err == nil {
		req.Events = append(found, req.GetEvents()...)
	}
	return req, err
}

// doRound does what the round of the call is about.
func (t tool) doRound(ctx context.Context, w *work) (*sessionsv1.CommitStepRequest, error) {
	r, err := t.round(ctx, w)
	switch {
	case err != nil:
		return nil, err
	case r.completed != nil:
		req, err := t.concluded(ctx, w, r.completed, r.events)
		if err != nil {
			return nil, err
		}
		if r.recorded {
			req = fromRecord(req)
		}
		return t.handedOver(w, req), nil
	case r.wait != nil:
		return t.waiting(w, r.wait, r.events), nil
	}
	return t.send(ctx, w, r.ask)
}

// send asks the registry for the call, and makes the commit of what comes of it.
func (t tool) send(ctx context.Context, w *work, ask *registryv1.CallToolRequest) (*sessionsv1.CommitStepRequest, error) {
	log := t.newEventLog(ctx, w)
	end, err := t.call(ctx, w, ask, log)
	faultpoint.Hit(faultpoint.CallDone)
	switch {
	case err != nil && cut(ctx):
		t.stop(ctx, w, ask.GetKey())
		return t.stopped(ctx, w, log), nil
	case err != nil && IsFinal(classify(ctx, err)): // the registry refused the call itself: the model is told
		return t.committed(w, refused(w, fault.CodeOf(err), fault.From(err).Text()), log.take()), nil
	case err != nil:
		log.take()
		return nil, fmt.Errorf("call tool %s: %w", w.call.GetTool(), err)
	}
	return t.ended(ctx, w, ask, end, log.take())
}

// ended makes the commit of a round that the registry has ended: with a result, or with something to wait for.
func (t tool) ended(
	ctx context.Context, w *work, ask *registryv1.CallToolRequest, end *registryv1.CallToolResponse, events []*turnv1.Event,
) (*sessionsv1.CommitStepRequest, error) {
	c := end.GetCompleted()
	switch {
	case end.GetApprovalRequired() != nil:
		return t.waiting(w, approvalWait(w, ask, end.GetApprovalRequired()), events), nil
	case end.GetInputRequired() != nil:
		return t.waiting(w, inputWait(w, ask, end.GetInputRequired()), events), nil
	case parks(w, ask, c):
		return t.waiting(w, resolutionWait(w, ask, c), events), nil
	case c.GetUnresolved() && !givenUp(ask): // a call that was parked was told of then
		events = append(events, toolUnresolved(w, c))
	}
	return t.concluded(ctx, w, c, events)
}

// concluded makes the commit of a call's end as the agent's shields leave it.
func (t tool) concluded(ctx context.Context, w *work, c *registryv1.Completed, events []*turnv1.Event) (*sessionsv1.CommitStepRequest, error) {
	found, err := t.shieldResult(ctx, w, c)
	if err != nil {
		return nil, err
	}
	return t.committed(w, c, append(events, found...)), nil
}

// call runs the call until the registry ends it, and journals on the way. The answer is one that ends the call, if only for now.
func (t tool) call(
	ctx context.Context, w *work, ask *registryv1.CallToolRequest, log *eventLog,
) (*registryv1.CallToolResponse, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := t.deps.Tools.CallTool(ctx, ask)
	if err != nil {
		return nil, err
	}
	publish := t.transient(ctx, w)
	for {
		m, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return nil, fault.New(codes.DataLoss, faultv1.Reason_REASON_UNAVAILABLE, "the registry ended the call without a result")
		}
		if err != nil {
			return nil, err
		}
		switch e := m.GetEvent().(type) {
		case *registryv1.CallToolResponse_Decided:
			log.add(policyDecided(w, e.Decided))
		case *registryv1.CallToolResponse_Executing:
			log.add(toolExecuting(w, e.Executing))
			log.writeAfter(t.cfg.ExecutingAfter)
		case *registryv1.CallToolResponse_Progress:
			publish(toolProgress(w, t.shieldProgress(ctx, w, e.Progress)))
		case *registryv1.CallToolResponse_Completed, *registryv1.CallToolResponse_ApprovalRequired, *registryv1.CallToolResponse_InputRequired:
			return m, nil
		}
	}
}

// committed makes the commit of a call that has an outcome.
func (t tool) committed(w *work, c *registryv1.Completed, events []*turnv1.Event) *sessionsv1.CommitStepRequest {
	result := c.GetResult()
	if result == nil {
		result = &turnv1.ToolResult{}
	}
	result.CallId, result.Tool = w.call.GetCallId(), w.call.GetTool()
	result.IsError = result.GetIsError() || c.GetUnresolved()
	events = append(events, toolCompleted(result, c))
	message := &turnv1.Message{
		Id: or(w.lease.GetMessageId(), ids.New(ids.Message)), SessionId: w.turn.SessionID, TurnId: w.turn.TurnID,
		Role: turnv1.Role_ROLE_TOOL, ToolResult: result,
	}
	return &sessionsv1.CommitStepRequest{
		Outcome: &turnv1.StepOutcome{
			IsError: result.GetIsError(), CallHash: w.callHash, MessageId: message.GetId(), Usage: usage(w, true),
			ContextTokens: int64(tokens.Message(message)),
		},
		Events: events, Messages: []*turnv1.Message{message}, Artifacts: artifacts(w, c),
	}
}

// stopped makes the commit of a call that was cut off by a cancel or by the turn's deadline. The conversation stays whole: the call
// has a result that says so.
func (t tool) stopped(ctx context.Context, w *work, log *eventLog) *sessionsv1.CommitStepRequest {
	events := log.take()
	text, code := "The call was stopped because the turn was cancelled; it may have taken effect.", "cancelled"
	w.cancelled = errors.Is(context.Cause(ctx), ErrCancelled)
	if !w.cancelled {
		text, code = "The call was stopped because the turn's time was up; it may have taken effect.", deadlineError().GetCode()
	}
	req := t.committed(w, &registryv1.Completed{
		Code: code, Result: errorResult(w.call, text), LatencyMs: int32(time.Since(w.started).Milliseconds()),
	}, events)
	if !w.cancelled {
		req.Outcome.Error = deadlineError()
	}
	return req
}

// giveUp answers the call with an error for the model: the turn goes on without the tool.
func (t tool) giveUp(w *work, why *turnv1.TurnError) *sessionsv1.CommitStepRequest {
	text, code := unsent(w)+": the turn was cancelled.", "cancelled"
	if why != nil {
		text, code = "The call could not be finished, its outcome is unknown: "+why.GetMessage(), why.GetCode()
	}
	req := t.committed(w, &registryv1.Completed{Code: code, Result: errorResult(w.call, text)}, nil)
	if why.GetCode() == deadlineError().GetCode() {
		req.Outcome.Error = why
	}
	return req
}
