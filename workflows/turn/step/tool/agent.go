package tool

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/windlass-dev/windlass/libs/canon"
	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/ids"
	executionv1 "github.com/windlass-dev/windlass/proto/gen/windlass/execution/v1"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	registryv1 "github.com/windlass-dev/windlass/proto/gen/windlass/registry/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/workflows/contract"
	"github.com/windlass-dev/windlass/workflows/turn/step"
	"github.com/windlass-dev/windlass/workflows/turn/step/model"
	"github.com/windlass-dev/windlass/workflows/turn/step/pinned"
)

// askedAgent is what a call asks of a sub-agent.
type askedAgent struct {
	Message    string          `json:"message"`
	Background bool            `json:"background"`
	Params     json.RawMessage `json:"params"`
	SessionID  string          `json:"session_id"`
	params     *structpb.Struct
}

// askedOf reads what a call asks; false when its arguments are not as the tool wants them.
func askedOf(call *turnv1.ToolCall) (askedAgent, bool) {
	var asked askedAgent
	err := json.Unmarshal([]byte(call.GetArgumentsJson()), &asked)
	if err == nil && len(asked.Params) > 0 && string(asked.Params) != "null" {
		asked.params, err = canon.ParseStruct(asked.Params)
	}
	return asked, err == nil
}

// agent is the round of a call that begins a sub-agent's turn. The registry is asked whether it may, as for any tool; then the sessions
// service makes the child, which is the same one however often the step is repeated.
func (t *tool) agent(ctx context.Context, a *executionv1.AgentTool, approved *registryv1.Approved) (round, error) {
	ask := t.request()
	ask.DefinitionHash, ask.Approved = a.GetDefinitionHash(), approved
	definition := &registryv1.Tool{
		Name: a.GetName(), InputSchemaJson: a.GetInputSchemaJson(), DefinitionHash: a.GetDefinitionHash(),
		Effect: turnv1.EffectClass_EFFECT_CLASS_ONCE,
	}
	if !strings.HasPrefix(a.GetName(), contract.AgentToolPrefix) { // it is a tool of a source
		definition.Source, _, _ = strings.Cut(a.GetName(), "__")
	}
	checked, err := t.Registry.CheckCall(ctx, &registryv1.CheckCallRequest{Call: ask, Definition: definition})
	if err != nil {
		return round{}, fmt.Errorf("check call of %s: %w", a.GetName(), err)
	}
	var r round
	if checked.GetDecided() != nil {
		r.events = append(r.events, policyDecided(t.call, checked.GetDecided()))
	}
	switch {
	case checked.GetRefused() != nil:
		r.completed = checked.GetRefused()
	case checked.GetApprovalRequired() != nil:
		r.wait = approvalWait(t.call, ask, checked.GetApprovalRequired())
	default:
		err = t.beginAgent(ctx, a, &r)
	}
	return r, err
}

// beginAgent starts the sub-agent's turn, and sets in r what follows for the call.
func (t *tool) beginAgent(ctx context.Context, a *executionv1.AgentTool, r *round) error {
	asked, ok := askedOf(t.call)
	if !ok || asked.SessionID != "" { // a child session is always a new one
		r.completed = refused(t.call, codeArguments, "The arguments are not as the tool wants them.")
		return nil
	}
	child, err := t.Sessions.CreateChild(ctx, &executionv1.CreateChildRequest{
		TurnId: t.Turn.TurnID, Step: t.Ref.GetKey(), Fence: t.Lease.GetFence(), CallId: t.call.GetCallId(), AgentId: a.GetAgentId(),
		Input: asked.Message, Params: asked.params, Background: asked.Background,
		Tainted: t.call.GetTainted(),
	})
	switch f := fault.From(err); {
	case err == nil:
	case fault.Is(err, faultv1.Reason_REASON_LEASE_LOST), fault.Is(err, faultv1.Reason_REASON_TURN_ENDED),
		!step.IsFinal(step.Classify(ctx, err)):
		return fmt.Errorf("begin agent %s: %w", a.GetAgentId(), err)
	default: // the model reads why
		r.completed = refused(t.call, fault.CodeOf(err), f.Text())
		return nil
	}
	r.child = child.GetTurnId()
	if !asked.Background {
		r.wait = newWait(t.call, turnv1.WaitKind_WAIT_KIND_CHILD)
		r.wait.ChildTurnId = child.GetTurnId()
		return nil
	}
	text := fmt.Sprintf(
		"The agent %s works in the background (turn %s). Its answer comes as a message of its own.", a.GetAgentId(), child.GetTurnId(),
	)
	r.completed = &registryv1.Completed{Result: &turnv1.ToolResult{
		Trusted: true,
		Content: []*turnv1.ContentPart{{Part: &turnv1.ContentPart_Text{Text: text}}},
	}}
	return nil
}

// handedOver adds to the result of the agent that a route chose that it is the turn's answer.
func (t *tool) handedOver(req *step.Commit) *step.Commit {
	result := req.GetMessages()[0].GetToolResult()
	routed := t.Ref.GetRouted() && !result.GetIsError()
	if !routed || pinned.AgentTool(t.Loaded, t.call.GetTool()) == nil {
		return req
	}
	answer := &turnv1.Message{
		Id: ids.New(ids.Message), SessionId: t.Turn.SessionID, TurnId: t.Turn.TurnID, Role: turnv1.Role_ROLE_ASSISTANT,
		Content: result.GetContent(), Tainted: t.call.GetTainted() || !result.GetTrusted(),
	}
	req.Messages = append(req.Messages, answer)
	req.Events = append(req.Events, &turnv1.Event{Data: &turnv1.Event_MessageCompleted{MessageCompleted: &turnv1.MessageCompleted{
		Message: answer, FinishReason: model.FinishStop,
	}}})
	return req
}
