package step

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/ids"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	inferencev1 "github.com/windlass-dev/windlass/proto/gen/windlass/inference/v1"
	registryv1 "github.com/windlass-dev/windlass/proto/gen/windlass/registry/v1"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
)

// agentTool is the sub-agent that a tool's name stands for, nil for any other tool.
func agentTool(loaded *sessionsv1.LoadTurnResponse, name string) *sessionsv1.AgentTool {
	for _, a := range loaded.GetAgentTools() {
		if a.GetName() == name {
			return a
		}
	}
	return nil
}

// agentDefinitions are a turn's sub-agents as the model is shown them.
func agentDefinitions(loaded *sessionsv1.LoadTurnResponse) []*inferencev1.ToolDefinition {
	var out []*inferencev1.ToolDefinition
	for _, a := range loaded.GetAgentTools() {
		out = append(out, &inferencev1.ToolDefinition{Name: a.GetName(), Description: a.GetDescription(), InputSchemaJson: a.GetInputSchemaJson()})
	}
	return out
}

// askedAgent is what a call asks of a sub-agent.
type askedAgent struct {
	Message    string         `json:"message"`
	Background bool           `json:"background"`
	Params     map[string]any `json:"params"`
	params     *structpb.Struct
}

// askedOf reads what a call asks; false when its arguments are not as the tool wants them.
func askedOf(call *turnv1.ToolCall) (askedAgent, bool) {
	var asked askedAgent
	err := json.Unmarshal([]byte(call.GetArgumentsJson()), &asked)
	if err == nil && asked.Params != nil {
		asked.params, err = structpb.NewStruct(asked.Params)
	}
	return asked, err == nil
}

// agent is the round of a call that begins a sub-agent's turn. The registry is asked whether it may, as for any tool; then the sessions service
// makes the child, which is the same one however often the step is repeated.
func (t tool) agent(ctx context.Context, w *work, a *sessionsv1.AgentTool, approved *registryv1.Approved) (round, error) {
	ask := t.request(w)
	ask.DefinitionHash, ask.Approved = a.GetDefinitionHash(), approved
	checked, err := t.deps.Tools.CheckCall(ctx, &registryv1.CheckCallRequest{Call: ask, Definition: &registryv1.Tool{
		Name: a.GetName(), InputSchemaJson: a.GetInputSchemaJson(), DefinitionHash: a.GetDefinitionHash(),
		Effect: turnv1.EffectClass_EFFECT_CLASS_ONCE,
	}})
	if err != nil {
		return round{}, fmt.Errorf("check call of %s: %w", a.GetName(), err)
	}
	var r round
	if checked.GetDecided() != nil {
		r.events = append(r.events, policyDecided(w, checked.GetDecided()))
	}
	switch {
	case checked.GetRefused() != nil:
		r.completed = checked.GetRefused()
	case checked.GetApprovalRequired() != nil:
		r.wait = approvalWait(w, ask, checked.GetApprovalRequired())
	default:
		err = t.beginAgent(ctx, w, a, &r)
	}
	return r, err
}

// beginAgent begins the sub-agent's turn, and says in r what the call comes to.
func (t tool) beginAgent(ctx context.Context, w *work, a *sessionsv1.AgentTool, r *round) error {
	asked, ok := askedOf(w.call)
	if !ok {
		r.completed = refused(w, codeArguments, "The arguments are not as the tool wants them.")
		return nil
	}
	child, err := t.deps.Sessions.CreateChild(ctx, &sessionsv1.CreateChildRequest{
		TurnId: w.turn.TurnID, Step: w.ref.GetKey(), Fence: w.lease.GetFence(), CallId: w.call.GetCallId(), AgentId: a.GetAgentId(),
		Input: asked.Message, Params: asked.params, Background: asked.Background,
	})
	switch f := fault.From(err); {
	case err == nil:
	case fault.Is(err, faultv1.Reason_REASON_LEASE_LOST), fault.Is(err, faultv1.Reason_REASON_TURN_ENDED), !IsFinal(classify(ctx, err)):
		return fmt.Errorf("begin agent %s: %w", a.GetAgentId(), err)
	default: // the model is told
		r.completed = refused(w, fault.CodeOf(err), f.Text())
		return nil
	}
	if !asked.Background {
		r.wait = newWait(w, turnv1.WaitKind_WAIT_KIND_CHILD)
		r.wait.ChildTurnId = child.GetTurnId()
		return nil
	}
	text := fmt.Sprintf("The agent %s works in the background (turn %s). Its answer comes as a message of its own.", a.GetAgentId(), child.GetTurnId())
	r.completed = &registryv1.Completed{Result: &turnv1.ToolResult{
		Content: []*turnv1.ContentPart{{Part: &turnv1.ContentPart_Text{Text: text}}},
	}}
	return nil
}

// agentNames are the tool names of a turn's sub-agents.
func agentNames(loaded *sessionsv1.LoadTurnResponse) []string {
	var names []string
	for _, a := range loaded.GetAgentTools() {
		names = append(names, a.GetName())
	}
	return names
}

// usableAgents are the sub-agents that the turn's user may call.
func usableAgents(loaded *sessionsv1.LoadTurnResponse, usable *registryv1.ResolveToolsResponse) []*sessionsv1.AgentTool {
	var out []*sessionsv1.AgentTool
	for _, a := range loaded.GetAgentTools() {
		if slices.Contains(usable.GetOthers(), a.GetName()) {
			out = append(out, a)
		}
	}
	return out
}

// handedOver adds to the result of the agent that a route chose that it is the turn's answer.
func (t tool) handedOver(w *work, req *sessionsv1.CommitStepRequest) *sessionsv1.CommitStepRequest {
	result := req.GetMessages()[0].GetToolResult()
	routed := w.ref.GetRouted() && !result.GetIsError()
	if !routed || agentTool(w.loaded, w.call.GetTool()) == nil {
		return req
	}
	answer := &turnv1.Message{
		Id: ids.New(ids.Message), SessionId: w.turn.SessionID, TurnId: w.turn.TurnID, Role: turnv1.Role_ROLE_ASSISTANT, Content: result.GetContent(),
	}
	req.Messages = append(req.Messages, answer)
	req.Events = append(req.Events, &turnv1.Event{Data: &turnv1.Event_MessageCompleted{MessageCompleted: &turnv1.MessageCompleted{
		Message: answer, FinishReason: finishStop,
	}}})
	return req
}
