package begin

import (
	"encoding/json"
	"slices"

	"github.com/windlass-dev/windlass/libs/glob"
	executionv1 "github.com/windlass-dev/windlass/proto/gen/windlass/execution/v1"
	registryv1 "github.com/windlass-dev/windlass/proto/gen/windlass/registry/v1"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/workflows/contract"
	"github.com/windlass-dev/windlass/workflows/turn/step"
)

// usableAgents are the sub-agents that the turn's user may call.
func usableAgents(loaded *step.Loaded, usable *registryv1.ResolveToolsResponse) []*executionv1.AgentTool {
	var out []*executionv1.AgentTool
	for _, a := range loaded.GetAgentTools() {
		if slices.Contains(usable.GetOthers(), a.GetName()) {
			out = append(out, a)
		}
	}
	return out
}

// maxAgents bounds the agents of sources that one turn can call.
const maxAgents = 128

// split takes the agents out of the tools of sources: within a turn they are called as its sub-agents are, in child sessions. An agent is
// no tool of its own.
func split(agent *sessionsv1.Agent, tools []*registryv1.Tool) ([]*registryv1.Tool, []*executionv1.AgentTool) {
	if !slices.ContainsFunc(tools, isAgent) {
		return tools, nil
	}
	var agents []*executionv1.AgentTool
	for _, t := range tools {
		if isAgent(t) && t.GetAgentId() != agent.GetId() && len(agents) < maxAgents {
			agents = append(agents, &executionv1.AgentTool{
				Name: t.GetName(), AgentId: t.GetAgentId(), Description: t.GetDescription(), DefinitionHash: t.GetDefinitionHash(),
				InputSchemaJson: childSchema(t.GetInputSchemaJson()),
			})
		}
	}
	return slices.DeleteFunc(slices.Clone(tools), isAgent), agents
}

func isAgent(t *registryv1.Tool) bool { return t.GetAgentId() != "" }

// childSchema is the schema of an agent's tool as the model of a turn reads it: a child session is always a new one.
func childSchema(text string) string {
	var schema map[string]any
	if err := json.Unmarshal([]byte(text), &schema); err != nil {
		return text
	}
	properties, ok := schema["properties"].(map[string]any)
	if !ok {
		return text
	}
	delete(properties, "session_id")
	out, err := json.Marshal(schema)
	if err != nil {
		return text
	}
	return string(out)
}

// aside takes the reader of artifacts out of the tools, unless the agent has it as a tool of its own: it is shown when there is
// something to read. It is nil when the user may not use it.
func aside(agent *sessionsv1.Agent, tools []*registryv1.Tool) ([]*registryv1.Tool, *executionv1.PinnedTool) {
	i := slices.IndexFunc(tools, func(t *registryv1.Tool) bool { return t.GetName() == contract.ReadArtifact })
	if i < 0 || glob.Any(agent.GetTools(), contract.ReadArtifact) {
		return tools, nil
	}
	reader := &executionv1.PinnedTool{Name: tools[i].GetName(), DefinitionHash: tools[i].GetDefinitionHash(), WithArtifacts: true}
	return slices.Delete(slices.Clone(tools), i, i+1), reader
}

// resume chooses the strategy. A re-run goes on as the turn that it runs again: nothing is chosen or planned that was chosen or planned
// before its first step.
func resume(r *turnv1.TurnRerun, surface *turnv1.Surface, agent *sessionsv1.Agent) (turnv1.Strategy, string) {
	if r.GetStrategy() == turnv1.Strategy_STRATEGY_UNSPECIFIED {
		return choose(agent, int(surface.GetTools()))
	}
	if plan := r.GetPlan(); plan != nil {
		surface.ResumedPlan = &turnv1.PlanRef{MessageId: plan.GetMessageId(), Steps: plan.GetSteps()}
		surface.ResumedPlans = r.GetPlans()
	}
	return r.GetStrategy(), "the turn that is run again thought so"
}

// resumedPlan returns the event of the plan that a re-run continues.
func resumedPlan(r *turnv1.TurnRerun) []*turnv1.Event {
	if r.GetPlan() == nil {
		return nil
	}
	return []*turnv1.Event{{Data: &turnv1.Event_PlanUpdated{PlanUpdated: r.GetPlan()}}}
}
