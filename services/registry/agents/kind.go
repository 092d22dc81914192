package agents

import (
	"fmt"

	"github.com/windlass-dev/windlass/libs/glob"
	"github.com/windlass-dev/windlass/services/registry/source"
	"github.com/windlass-dev/windlass/services/registry/store"
)

// subAgents is no name of a source of agents: "agent__ID" are the tools of an agent's own sub-agents.
const subAgents = "agent"

// Kind is agents of Windlass.
type Kind struct{}

// Facts implements source.Kind.
func (Kind) Facts() source.Facts {
	return source.Facts{Name: "agent", Fields: []string{"agents"}, Uncached: true}
}

// Validate implements source.Kind.
func (Kind) Validate(s store.Source, bad source.Bad) {
	source.NoServer(s, bad)
	source.NoAPI(s, bad)
	if s.Name == subAgents {
		bad("source.name", `"agent__ID" are the sub-agents of an agent: choose another name`)
	}
	if s.Spec.URL != "" || s.Spec.Auth != nil || len(s.Spec.Headers) > 0 {
		bad("source.kind", "a source of kind agent has agents, and no url, headers or auth")
	}
	for i, pattern := range s.Spec.Agents {
		if err := glob.CheckName(pattern); err != nil {
			bad(fmt.Sprintf("source.agents[%d]", i), err.Error())
		}
	}
}
