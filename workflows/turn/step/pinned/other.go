package pinned

import (
	"strings"

	"github.com/windlass-dev/windlass/libs/canon"
	executionv1 "github.com/windlass-dev/windlass/proto/gen/windlass/execution/v1"
	inferencev1 "github.com/windlass-dev/windlass/proto/gen/windlass/inference/v1"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	"github.com/windlass-dev/windlass/workflows/turn/step"
)

// ClientPrefix begins the names under which the model knows the tools that the turn's client runs.
const ClientPrefix = "client__"

// anyObject is the schema of arguments about which nothing is said.
const anyObject = `{"type":"object"}`

// ClientTool finds a tool of the turn's client by the name that the model knows, nil when there is none.
func ClientTool(loaded *step.Loaded, name string) *sessionsv1.ClientTool {
	own, ok := strings.CutPrefix(name, ClientPrefix)
	if !ok {
		return nil
	}
	for _, t := range loaded.GetClientTools() {
		if t.GetName() == own {
			return t
		}
	}
	return nil
}

// clientTools returns the tools of the turn's client as a model reads them.
func clientTools(loaded *step.Loaded) []*inferencev1.ToolDefinition {
	out := make([]*inferencev1.ToolDefinition, 0, len(loaded.GetClientTools()))
	for _, t := range loaded.GetClientTools() {
		out = append(out, &inferencev1.ToolDefinition{
			Name: ClientPrefix + t.GetName(), Description: t.GetDescription(), InputSchemaJson: InputSchema(t),
		})
	}
	return out
}

// InputSchema returns the schema of the arguments of a client's tool.
func InputSchema(t *sessionsv1.ClientTool) string {
	if t.GetInputSchema() == nil {
		return anyObject
	}
	return string(canon.StructJSON(t.GetInputSchema()))
}

// AgentTool finds the sub-agent that a tool's name stands for, nil for any other tool.
func AgentTool(loaded *step.Loaded, name string) *executionv1.AgentTool {
	for _, a := range loaded.GetAgentTools() {
		if a.GetName() == name {
			return a
		}
	}
	return nil
}

// agentDefinitions returns a turn's sub-agents as a model reads them.
func agentDefinitions(loaded *step.Loaded) []*inferencev1.ToolDefinition {
	var out []*inferencev1.ToolDefinition
	for _, a := range loaded.GetAgentTools() {
		out = append(out, &inferencev1.ToolDefinition{
			Name: a.GetName(), Description: a.GetDescription(), InputSchemaJson: a.GetInputSchemaJson(),
		})
	}
	return out
}

// AgentNames returns the tool names of a turn's sub-agents.
func AgentNames(loaded *step.Loaded) []string {
	var names []string
	for _, a := range loaded.GetAgentTools() {
		names = append(names, a.GetName())
	}
	return names
}
