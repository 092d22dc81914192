// Package tool does the steps that call a tool: of the registry, of the turn's client, or a sub-agent. A call has a round for each time
// it waits; each round is a step.
package tool

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"time"

	"google.golang.org/grpc"

	"github.com/windlass-dev/windlass/libs/ids"
	"github.com/windlass-dev/windlass/libs/tokens"
	executionv1 "github.com/windlass-dev/windlass/proto/gen/windlass/execution/v1"
	policyv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policy/v1"
	registryv1 "github.com/windlass-dev/windlass/proto/gen/windlass/registry/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/workflows/contract"
	"github.com/windlass-dev/windlass/workflows/turn/step"
	"github.com/windlass-dev/windlass/workflows/turn/step/conversation"
	"github.com/windlass-dev/windlass/workflows/turn/step/pinned"
	"github.com/windlass-dev/windlass/workflows/turn/step/shield"
)

// journal is what is asked of the sessions service.
type journal interface {
	AppendEvents(context.Context, *executionv1.AppendEventsRequest, ...grpc.CallOption) (*executionv1.AppendEventsResponse, error)
	GetWait(context.Context, *executionv1.GetWaitRequest, ...grpc.CallOption) (*executionv1.Wait, error)
	GetRecording(context.Context, *executionv1.GetRecordingRequest, ...grpc.CallOption) (*executionv1.GetRecordingResponse, error)
	CreateChild(context.Context, *executionv1.CreateChildRequest, ...grpc.CallOption) (*executionv1.CreateChildResponse, error)
}

// registry is what is asked of the registry.
type registry interface {
	CallTool(context.Context, *registryv1.CallToolRequest, ...grpc.CallOption) (grpc.ServerStreamingClient[registryv1.CallToolResponse], error)
	CheckCall(context.Context, *registryv1.CheckCallRequest, ...grpc.CallOption) (*registryv1.CheckCallResponse, error)
	FindTools(context.Context, *registryv1.FindToolsRequest, ...grpc.CallOption) (*registryv1.FindToolsResponse, error)
	StopCall(context.Context, *registryv1.StopCallRequest, ...grpc.CallOption) (*registryv1.StopCallResponse, error)
}

// Deps are what tool steps work with. All are required.
type Deps struct {
	Sessions journal
	Registry registry
	Pinned   *pinned.Cache
	Shields  *shield.Checker
	// Transient returns what publishes the step's transient events.
	Transient func(context.Context, *step.Work) func(*turnv1.Event)
	// ExecutingAfter is how long a call runs before the journal says so.
	ExecutingAfter time.Duration
	Log            *slog.Logger
}

// Kind is that of tool steps. The registry asks policy, keeps the ledger and decides what may be repeated; the key makes a repeated call
// the same call for it.
type Kind struct{ Deps }

// Prepare implements step.Kind.
func (k Kind) Prepare(ctx context.Context, w *step.Work) (step.Action, error) {
	if w.Loaded == nil {
		loaded, err := k.Pinned.Turn(ctx, w.Turn.TurnID)
		if err != nil {
			return nil, err
		}
		w.Loaded = loaded
	}
	call, err := k.Pinned.Call(ctx, w.Turn.TurnID, w.Ref.GetCall())
	if err != nil {
		return nil, err
	}
	t := &tool{Deps: k.Deps, Work: w, call: call, hash: contract.CallHash(call)}
	if w.Ref.GetRound() <= 1 { // the claims of later rounds announce nothing
		w.Announced = t.toolCallStarted()
	}
	return t, nil
}

// tool is one round of a call.
type tool struct {
	Deps
	*step.Work
	call *turnv1.ToolCall
	hash string
	// approvals are the rules of shields that ask before the call.
	approvals []*policyv1.ApprovalRule
}

// Do implements step.Action.
func (t *tool) Do(ctx context.Context) (*step.Commit, error) {
	if t.Cancelled {
		return t.endCancelled(ctx)
	}
	call, err := t.Shields.Arguments(ctx, t.Work, t.call)
	switch {
	case err != nil:
		return nil, err
	case call.Refusal != "":
		return t.committed(refused(t.call, shield.Code, call.Refusal), call.Events), nil
	case len(call.Approvals) > 0 && !t.canWait():
		return t.committed(refused(t.call, shield.Code, fmt.Sprintf(
			"The call was not run: %q asks for an approval, and calls of this tool cannot have one.", call.Approvals[0].GetName(),
		)), call.Events), nil
	}
	t.call, t.approvals = call.ToolCall, call.Approvals
	req, err := t.doRound(ctx)
	if err == nil {
		req.Events = append(call.Events, req.GetEvents()...)
	}
	return req, err
}

// canWait reports whether a call of the tool can wait for an approval: those that the turn's client runs, and searches, do not pass the
// registry.
func (t *tool) canWait() bool {
	return pinned.ClientTool(t.Loaded, t.call.GetTool()) == nil && !t.searches()
}

// doRound does the round.
func (t *tool) doRound(ctx context.Context) (*step.Commit, error) {
	r, err := t.round(ctx)
	switch {
	case err != nil:
		return nil, err
	case r.completed != nil:
		req, err := t.concluded(ctx, r.completed, r.events)
		if err != nil {
			return nil, err
		}
		if r.recorded {
			req = fromRecord(req)
		}
		req.Outcome.ChildTurnId = r.child
		return t.handedOver(req), nil
	case r.wait != nil:
		req := t.waiting(r.wait, r.events)
		req.Outcome.ChildTurnId = r.child
		return req, nil
	}
	return t.send(ctx, r.ask)
}

// concluded makes the commit of a call's end as the agent's shields leave it.
func (t *tool) concluded(ctx context.Context, c *registryv1.Completed, events []*turnv1.Event) (*step.Commit, error) {
	found, err := t.Shields.Result(ctx, t.Work, t.call, c)
	if err != nil {
		return nil, err
	}
	return t.committed(c, append(events, found...)), nil
}

// committed makes the commit of a call that has an outcome.
func (t *tool) committed(c *registryv1.Completed, events []*turnv1.Event) *step.Commit {
	result := c.GetResult()
	if result == nil {
		result = &turnv1.ToolResult{}
	}
	result.CallId, result.Tool = t.call.GetCallId(), t.call.GetTool()
	result.IsError = result.GetIsError() || c.GetUnresolved()
	events = append(events, toolCompleted(result, c))
	message := &turnv1.Message{
		Id: cmp.Or(t.Lease.GetMessageId(), ids.New(ids.Message)), SessionId: t.Turn.SessionID, TurnId: t.Turn.TurnID,
		Role: turnv1.Role_ROLE_TOOL, ToolResult: result,
	}
	return &step.Commit{
		Outcome: &turnv1.StepOutcome{
			IsError: result.GetIsError(), CallHash: t.hash, MessageId: message.GetId(), Usage: usage(t.Work, true),
			ContextTokens: int64(tokens.Message(message)),
		},
		Events: events, Messages: []*turnv1.Message{message}, Artifacts: artifacts(t.call, c),
	}
}

// GiveUp implements step.Action: it answers the call with an error for the model, and the turn continues without the tool.
func (t *tool) GiveUp(why *turnv1.TurnError) *step.Commit {
	text, code := unsent(t.Work)+": the turn was cancelled.", "cancelled"
	if why != nil {
		text, code = "The call could not be finished, its outcome is unknown: "+why.GetMessage(), why.GetCode()
	}
	req := t.committed(&registryv1.Completed{Code: code, Result: conversation.ErrorResult(t.call, text)}, nil)
	if why.GetCode() == step.DeadlineError().GetCode() {
		req.Outcome.Error = why
	}
	return req
}
