package step

import (
	"context"
	"fmt"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/windlass-dev/windlass/libs/canon"
	registryv1 "github.com/windlass-dev/windlass/proto/gen/windlass/registry/v1"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/workflows/contract"
)

// waiting makes the commit of a round that ends with a wait.
func (tool) waiting(w *work, wait *sessionsv1.WaitRequest, events []*turnv1.Event) *sessionsv1.CommitStepRequest {
	return &sessionsv1.CommitStepRequest{Outcome: &turnv1.StepOutcome{Usage: usage(w, contract.Sent(wait.GetKind()))}, Events: events, Wait: wait}
}

// newWait describes what a call waits for.
func newWait(w *work, kind turnv1.WaitKind) *sessionsv1.WaitRequest {
	return &sessionsv1.WaitRequest{Kind: kind, CallId: w.call.GetCallId(), Tool: w.call.GetTool(), Arguments: argumentsOf(w.call)}
}

// approvalWait asks for leave, as the rule says.
func approvalWait(w *work, ask *registryv1.CallToolRequest, need *registryv1.ApprovalRequired) *sessionsv1.WaitRequest {
	rule := need.GetRule()
	wait := newWait(w, turnv1.WaitKind_WAIT_KIND_APPROVAL)
	wait.ArgumentsHash, wait.DefinitionHash, wait.Effect = need.GetArgumentsHash(), need.GetDefinitionHash(), need.GetEffect()
	wait.Rule, wait.Message, wait.ApproverRoles = rule.GetName(), rule.GetReason(), rule.GetApproverRoles()
	wait.AllowRequester, wait.Quorum, wait.ExpiresInMs = rule.GetAllowRequester(), rule.GetQuorum(), int64(rule.GetExpiresSeconds())*1000
	kept := &registryv1.CallToolRequest{} // leave that was given before is void
	wait.State = remember(kept, ask.GetInput())
	return wait
}

// inputWait asks the tool's question.
func inputWait(w *work, ask *registryv1.CallToolRequest, need *registryv1.InputRequired) *sessionsv1.WaitRequest {
	wait := newWait(w, turnv1.WaitKind_WAIT_KIND_INPUT)
	wait.Message, wait.SchemaJson, wait.ExpiresInMs = need.GetMessage(), need.GetSchemaJson(), need.GetExpiresInMs()
	wait.State = remember(ask, &registryv1.InputAnswer{State: need.GetState()})
	return wait
}

// parks tells whether a call whose outcome is unknown waits until somebody says what became of it. Once nobody could say, it does not
// wait again.
func parks(w *work, ask *registryv1.CallToolRequest, c *registryv1.Completed) bool {
	return c.GetUnresolved() && w.loaded.GetAgent().GetOnUnknownOutcome() == parkUnknown && !givenUp(ask)
}

// givenUp tells whether the call is asked for only to say that its outcome stays unknown.
func givenUp(ask *registryv1.CallToolRequest) bool {
	return ask.GetResolution().GetVerdict() == turnv1.Verdict_VERDICT_GIVEN_UP
}

// resolutionWait asks what became of the call.
func resolutionWait(w *work, ask *registryv1.CallToolRequest, c *registryv1.Completed) *sessionsv1.WaitRequest {
	wait := newWait(w, turnv1.WaitKind_WAIT_KIND_RESOLUTION)
	wait.ExecutionId, wait.Message, wait.Effect = c.GetExecutionId(), textOf(c.GetResult()), w.effect()
	if arguments, err := canon.Parse([]byte(w.call.GetArgumentsJson())); err == nil {
		wait.ArgumentsHash = arguments.Hash()
	}
	wait.State = remember(ask, ask.GetInput())
	return wait
}

// ExpireWaits ends the waits of a turn whose time is up. Errors as in Do.
func (r *Runner) ExpireWaits(ctx context.Context, turn contract.TurnInput) error {
	ctx = asWorker(ctx, turn)
	_, err := r.deps.Sessions.ExpireWaits(ctx, &sessionsv1.ExpireWaitsRequest{TurnId: turn.TurnID})
	if err != nil {
		return classify(ctx, fmt.Errorf("expire waits: %w", err))
	}
	return nil
}

// argumentsOf are a call's arguments, nil when they are no JSON object.
func argumentsOf(call *turnv1.ToolCall) *structpb.Struct {
	arguments := &structpb.Struct{}
	if protojson.Unmarshal([]byte(call.GetArgumentsJson()), arguments) != nil {
		return nil
	}
	return arguments
}

// effect is what may be repeated of the call, as far as its definition is at hand.
func (w *work) effect() turnv1.EffectClass {
	def, _ := w.runner.cache.definitions.Peek(w.pinnedHash())
	return def.GetEffect()
}

func textOf(result *turnv1.ToolResult) string {
	for _, part := range result.GetContent() {
		if part.GetText() != "" {
			return part.GetText()
		}
	}
	return ""
}
