package sourcespec

import (
	"fmt"

	"github.com/windlass-dev/windlass/libs/glob"
	"github.com/windlass-dev/windlass/services/registry/store"
)

// subAgents is no name of a source of agents: "agent__ID" are the tools of an agent's own sub-agents.
const subAgents = "agent"

// validateAgents checks a source of kind agent.
func validateAgents(s store.Source, bad func(field, message string)) {
	validateNoServer(s, bad)
	validateNoAPI(s, bad)
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
