package tool

import (
	"context"
	"fmt"
	"slices"

	executionv1 "github.com/windlass-dev/windlass/proto/gen/windlass/execution/v1"
	registryv1 "github.com/windlass-dev/windlass/proto/gen/windlass/registry/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/workflows/contract"
	"github.com/windlass-dev/windlass/workflows/contract/stepkey"
	"github.com/windlass-dev/windlass/workflows/turn/engine"
	"github.com/windlass-dev/windlass/workflows/turn/step/pinned"
)

// Codes of calls without a result, in tool_call.completed.
const (
	codeDenied       = "approval_denied"
	codeExpired      = "wait_expired"
	codeCancelled    = "wait_cancelled"
	codeTooOften     = "too_many_waits"
	codeArguments    = "invalid_tool_arguments"
	codeUnauthorized = "authorization_required"
)

// parkUnknown is the setting of an agent to wait until a person resolves a call whose outcome is unknown.
const parkUnknown = "park"

// round is the result of one round of a call before the registry is asked, if it is asked at all. One of its fields is set.
type round struct {
	// ask is what to ask the registry.
	ask *registryv1.CallToolRequest
	// completed is the call's end.
	completed *registryv1.Completed
	// wait is what the call waits for.
	wait *executionv1.WaitRequest
	// events are those that led to completed or wait.
	events []*turnv1.Event
	// child is the turn that the call started for a sub-agent.
	child string
	// recorded means that completed is the result of the same call in the turn that is rerun.
	recorded bool
}

// round decides what this round does: on the first round by who runs the call, on later ones by what was waited for.
func (t *tool) round(ctx context.Context) (round, error) {
	client, agent := pinned.ClientTool(t.Loaded, t.call.GetTool()), pinned.AgentTool(t.Loaded, t.call.GetTool())
	switch {
	case t.Ref.GetRound() > engine.MaxRounds:
		text := fmt.Sprintf("The call was given up: it asked for an answer %d times.", engine.MaxRounds)
		return round{completed: refused(t.call, codeTooOften, text)}, nil
	case t.Ref.GetWait() != nil:
		wait, err := t.Sessions.GetWait(ctx, &executionv1.GetWaitRequest{TurnId: t.Turn.TurnID, WaitId: t.Ref.GetWait().GetId()})
		if err != nil {
			return round{}, fmt.Errorf("read wait: %w", err)
		}
		r, err := t.after(wait)
		if r.ask != nil && agent != nil { // it was approved
			return t.agent(ctx, agent, r.ask.GetApproved())
		}
		return r, err
	case t.Loaded.GetRerun().GetTools() == contract.ToolsRecorded:
		if r, err := t.recorded(ctx); err != nil || r.completed != nil {
			return r, err
		}
		if t.searches() {
			return t.find(ctx)
		}
		return round{ask: t.request()}, nil
	case t.searches():
		return t.find(ctx)
	case agent != nil:
		return t.agent(ctx, agent, nil)
	case client != nil:
		return firstOfClient(ctx, t.call, client)
	default:
		return round{ask: t.request()}, nil
	}
}

// request asks the registry for the call. Its key is that of the call's first round, so that all rounds are one execution.
func (t *tool) request() *registryv1.CallToolRequest {
	return &registryv1.CallToolRequest{
		Principal: t.Loaded.GetPrincipal(), Tool: t.call.GetTool(), DefinitionHash: pinned.DefinitionHash(t.Loaded, t.call.GetTool()),
		ArgumentsJson: t.call.GetArgumentsJson(), TurnId: t.Turn.TurnID, SessionId: t.Turn.SessionID, CallId: t.call.GetCallId(),
		Key: t.Turn.TurnID + "/" + stepkey.FirstRound(t.Ref.GetKey()), CanWait: true, RunnerId: t.Pinned.Worker(),
		ApprovalRules: slices.Concat(t.approvals, t.Loaded.GetAgent().GetApprovals()), Tainted: t.call.GetTainted(),
		Banks: t.Loaded.GetAgent().GetBanks(),
	}
}
