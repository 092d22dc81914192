package tool

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/faultpoint"
	"github.com/windlass-dev/windlass/libs/sealedresult"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	registryv1 "github.com/windlass-dev/windlass/proto/gen/windlass/registry/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/workflows/turn/step"
	"github.com/windlass-dev/windlass/workflows/turn/step/conversation"
	"github.com/windlass-dev/windlass/workflows/turn/step/shield"
)

// send asks the registry for the call, and makes the commit of what comes of it.
func (t *tool) send(ctx context.Context, ask *registryv1.CallToolRequest) (*step.Commit, error) {
	log := t.newEventLog(ctx)
	defer log.take() // also if it panics
	end, err := t.run(ctx, ask, log)
	faultpoint.Hit(faultpoint.CallDone)
	switch {
	case err != nil && step.Cut(ctx):
		t.stop(ctx, ask.GetKey())
		return t.stopped(ctx, log), nil
	case err != nil && step.IsFinal(step.Classify(ctx, err)): // the registry refused the call itself: the model reads why
		return t.committed(refused(t.call, fault.CodeOf(err), fault.From(err).Text()), log.take()), nil
	case err != nil:
		return nil, fmt.Errorf("call tool %s: %w", t.call.GetTool(), err)
	}
	return t.ended(ctx, ask, end, log.take())
}

// ended makes the commit of a round that the registry has ended: with a result, or with something to wait for.
func (t *tool) ended(
	ctx context.Context, ask *registryv1.CallToolRequest, end *registryv1.CallToolResponse, events []*turnv1.Event,
) (*step.Commit, error) {
	c := end.GetCompleted()
	switch {
	case end.GetApprovalRequired() != nil:
		return t.waiting(approvalWait(t.call, ask, end.GetApprovalRequired()), events), nil
	case end.GetInputRequired() != nil:
		return t.waiting(inputWait(t.call, ask, end.GetInputRequired()), events), nil
	case end.GetAuthorizationRequired() != nil:
		return t.waiting(authorizationWait(t.call, ask, end.GetAuthorizationRequired()), events), nil
	case parks(t.Loaded.GetAgent(), ask, c):
		return t.waiting(t.resolutionWait(ask, c), events), nil
	case c.GetUnresolved() && !givenUp(ask): // a call that was parked was reported then
		events = append(events, toolUnresolved(t.call, c))
	}
	return t.concluded(ctx, c, events)
}

// run runs the call until the registry ends it, and journals on the way. The answer is one that ends the call, if only for now.
func (t *tool) run(
	ctx context.Context, ask *registryv1.CallToolRequest, log *eventLog,
) (*registryv1.CallToolResponse, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if applies, err := t.Shields.AppliesTo(ctx, t.Loaded.GetAgent(), shield.StageResult); applies || err != nil {
		ctx = sealedresult.Ask(ctx) // what shields may withhold is not readable in the ledger either
	}
	stream, err := t.Registry.CallTool(ctx, ask)
	if err != nil {
		return nil, err
	}
	publish := t.Transient(ctx, t.Work)
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
			log.add(policyDecided(t.call, e.Decided))
		case *registryv1.CallToolResponse_Executing:
			log.add(toolExecuting(t.call, e.Executing))
			log.writeAfter(t.ExecutingAfter)
		case *registryv1.CallToolResponse_Progress:
			publish(toolProgress(t.call, t.checkedProgress(ctx, e.Progress)))
		case *registryv1.CallToolResponse_Completed, *registryv1.CallToolResponse_ApprovalRequired, *registryv1.CallToolResponse_InputRequired,
			*registryv1.CallToolResponse_AuthorizationRequired:
			return m, nil
		}
	}
}

// stopped makes the commit of a call that was cut off by a cancel or by the turn's deadline. The conversation stays whole: the call
// has a result that says so.
func (t *tool) stopped(ctx context.Context, log *eventLog) *step.Commit {
	events := log.take()
	text, code := "The call was stopped because the turn was cancelled; it may have taken effect.", "cancelled"
	t.Cancelled = errors.Is(context.Cause(ctx), step.ErrCancelled)
	if !t.Cancelled {
		text, code = "The call was stopped because the turn's time was up; it may have taken effect.", step.DeadlineError().GetCode()
	}
	req := t.committed(&registryv1.Completed{
		Code: code, Result: conversation.ErrorResult(t.call, text), LatencyMs: int32(time.Since(t.Started).Milliseconds()),
	}, events)
	if !t.Cancelled {
		req.Outcome.Error = step.DeadlineError()
	}
	return req
}

// checkedProgress removes the tool's message from its progress if shields check its results: it would pass unchecked.
func (t *tool) checkedProgress(ctx context.Context, p *registryv1.Progress) *registryv1.Progress {
	if applies, err := t.Shields.AppliesTo(ctx, t.Loaded.GetAgent(), shield.StageResult); applies || err != nil {
		p.Message = ""
	}
	return p
}

// stopPatience bounds the wait for the registry to stop a call.
const stopPatience = time.Second

// stop has the registry end the call with a key, which would run on otherwise. A registry that cannot be reached ends it when the worker
// is gone.
func (t *tool) stop(ctx context.Context, key string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopPatience)
	defer cancel()
	if _, err := t.Registry.StopCall(ctx, &registryv1.StopCallRequest{Key: key}); err != nil {
		t.Log.WarnContext(ctx, "a tool call was not stopped", "turn", t.Turn.TurnID, "step", t.Ref.GetKey(), "error", err)
	}
}
