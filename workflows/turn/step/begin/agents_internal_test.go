package begin

import (
	"fmt"
	"testing"

	registryv1 "github.com/windlass-dev/windlass/proto/gen/windlass/registry/v1"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
)

// TestAgentsOfSourcesAreSubAgents: they are pinned as the sub-agents of a blueprint are, each with the definition of its tool, and without
// the session to continue.
func TestAgentsOfSourcesAreSubAgents(t *testing.T) {
	schema := `{"properties":{"message":{"type":"string"},"session_id":{"type":"string"}},"type":"object"}`
	tools := []*registryv1.Tool{
		{Name: "notes__read"},
		{Name: "team__lead", AgentId: "lead", DefinitionHash: "h0", InputSchemaJson: schema},
		{Name: "team__writer", AgentId: "writer", DefinitionHash: "h1", Description: "Writes.", InputSchemaJson: schema},
		{Name: "team__odd", AgentId: "odd", DefinitionHash: "h2", InputSchemaJson: `no schema`},
	}
	own, agents := split(&sessionsv1.Agent{Id: "lead"}, tools)
	if len(own) != 1 || own[0].GetName() != "notes__read" || len(tools) != 4 || tools[0].GetName() != "notes__read" {
		t.Errorf("the tools are %v of %v", own, tools)
	}
	if len(agents) != 2 {
		t.Fatalf("the agents are %v", agents)
	}
	a := agents[0]
	if a.GetName() != "team__writer" || a.GetAgentId() != "writer" || a.GetDefinitionHash() != "h1" || a.GetDescription() != "Writes." ||
		a.GetInputSchemaJson() != `{"properties":{"message":{"type":"string"}},"type":"object"}` {
		t.Errorf("the agent is %v", a)
	}
	if got := agents[1].GetInputSchemaJson(); got != `no schema` {
		t.Errorf("a schema that is none: %s", got)
	}
}

func TestATurnHasABoundOfAgents(t *testing.T) {
	var tools []*registryv1.Tool
	for i := range 2 * maxAgents {
		tools = append(tools, &registryv1.Tool{Name: fmt.Sprint("team__", i), AgentId: fmt.Sprint(i)})
	}
	if own, agents := split(&sessionsv1.Agent{}, tools); len(own) != 0 || len(agents) != maxAgents {
		t.Errorf("%d tools and %d agents", len(own), len(agents))
	}
}
