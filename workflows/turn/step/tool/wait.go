package tool

import (
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/windlass-dev/windlass/libs/canon"
	"github.com/windlass-dev/windlass/libs/toolresult"
	executionv1 "github.com/windlass-dev/windlass/proto/gen/windlass/execution/v1"
	registryv1 "github.com/windlass-dev/windlass/proto/gen/windlass/registry/v1"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/workflows/contract"
	"github.com/windlass-dev/windlass/workflows/turn/step"
)

// waiting makes the commit of a round that ends with a wait.
func (t *tool) waiting(wait *executionv1.WaitRequest, events []*turnv1.Event) *step.Commit {
	return &step.Commit{Outcome: &turnv1.StepOutcome{Usage: usage(t.Work, contract.Sent(wait.GetKind()))}, Events: events, Wait: wait}
}

// newWait describes what a call waits for.
func newWait(call *turnv1.ToolCall, kind turnv1.WaitKind) *executionv1.WaitRequest {
	return &executionv1.WaitRequest{Kind: kind, CallId: call.GetCallId(), Tool: call.GetTool(), Arguments: argumentsOf(call)}
}

// approvalWait asks for approval, as the rule says.
func approvalWait(call *turnv1.ToolCall, ask *registryv1.CallToolRequest, need *registryv1.ApprovalRequired) *executionv1.WaitRequest {
	rule := need.GetRule()
	wait := newWait(call, turnv1.WaitKind_WAIT_KIND_APPROVAL)
	wait.ArgumentsHash, wait.DefinitionHash, wait.Effect = need.GetArgumentsHash(), need.GetDefinitionHash(), need.GetEffect()
	wait.Rule, wait.Message, wait.ApproverRoles = rule.GetName(), rule.GetReason(), rule.GetApproverRoles()
	wait.AllowRequester, wait.Quorum = rule.GetAllowRequester(), rule.GetQuorum()
	wait.ExpiresIn = durationpb.New(time.Duration(rule.GetExpiresSeconds()) * time.Second)
	kept := &registryv1.CallToolRequest{} // an approval that was given before is void
	wait.State = remember(kept, ask.GetInput())
	return wait
}

// inputWait asks the tool's question.
func inputWait(call *turnv1.ToolCall, ask *registryv1.CallToolRequest, need *registryv1.InputRequired) *executionv1.WaitRequest {
	wait := newWait(call, turnv1.WaitKind_WAIT_KIND_INPUT)
	wait.Message, wait.SchemaJson, wait.ExpiresIn = need.GetMessage(), need.GetSchemaJson(), need.GetExpiresIn()
	wait.State = remember(ask, &registryv1.InputAnswer{State: need.GetState()})
	return wait
}

// authorizationWait asks the user to log in, or to connect the tool's source.
func authorizationWait(
	call *turnv1.ToolCall, ask *registryv1.CallToolRequest, need *registryv1.AuthorizationRequired,
) *executionv1.WaitRequest {
	wait := newWait(call, turnv1.WaitKind_WAIT_KIND_AUTHORIZATION)
	wait.Authorization, wait.Message = need.GetAuthorization(), need.GetMessage()
	wait.State = remember(ask, ask.GetInput())
	return wait
}

// parks reports whether a call whose outcome is unknown waits until a person resolves it. After one resolution failed it does not wait
// again.
func parks(agent *sessionsv1.Agent, ask *registryv1.CallToolRequest, c *registryv1.Completed) bool {
	return c.GetUnresolved() && agent.GetOnUnknownOutcome() == parkUnknown && !givenUp(ask)
}

// givenUp reports whether the call is repeated only to record that its outcome stays unknown.
func givenUp(ask *registryv1.CallToolRequest) bool {
	return ask.GetResolution().GetVerdict() == turnv1.Verdict_VERDICT_GIVEN_UP
}

// resolutionWait asks for the outcome of the call.
func (t *tool) resolutionWait(ask *registryv1.CallToolRequest, c *registryv1.Completed) *executionv1.WaitRequest {
	wait := newWait(t.call, turnv1.WaitKind_WAIT_KIND_RESOLUTION)
	wait.ExecutionId, wait.Message, wait.Effect = c.GetExecutionId(), forPeople(c.GetResult()), t.Pinned.Effect(t.Loaded, t.call.GetTool())
	if arguments, err := canon.Parse([]byte(t.call.GetArgumentsJson())); err == nil {
		wait.ArgumentsHash = arguments.Hash()
	}
	wait.State = remember(ask, ask.GetInput())
	return wait
}

// argumentsOf are a call's arguments, nil when they are no JSON object.
func argumentsOf(call *turnv1.ToolCall) *structpb.Struct {
	arguments, err := canon.ParseStruct([]byte(call.GetArgumentsJson()))
	if err != nil {
		return nil
	}
	return arguments
}

// forPeople is what a result says of a call whose outcome is unknown, without what the model is to do.
func forPeople(result *turnv1.ToolResult) string {
	return strings.TrimSpace(strings.TrimSuffix(textOf(result), toolresult.DoubtHint))
}

func textOf(result *turnv1.ToolResult) string {
	for _, part := range result.GetContent() {
		if part.GetText() != "" {
			return part.GetText()
		}
	}
	return ""
}
