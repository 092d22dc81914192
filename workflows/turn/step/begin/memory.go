package begin

import (
	"context"
	"fmt"
	"slices"

	"github.com/windlass-dev/windlass/libs/glob"
	"github.com/windlass-dev/windlass/libs/tokens"
	knowledgev1 "github.com/windlass-dev/windlass/proto/gen/windlass/knowledge/v1"
	registryv1 "github.com/windlass-dev/windlass/proto/gen/windlass/registry/v1"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/workflows/contract"
	"github.com/windlass-dev/windlass/workflows/turn/step"
)

// recall asks which facts about its user enter the prompts of the turn. Agents with an executor keep their own memory.
func (b begin) recall(ctx context.Context, loaded *step.Loaded) ([]*knowledgev1.RecalledFact, error) {
	agent := loaded.GetAgent()
	if m := agent.GetMemory(); b.Facts == nil || contract.Hosted(agent) || m != contract.MemoryRead && m != contract.MemoryWrite {
		return nil, nil
	}
	resp, err := b.Facts.Recall(ctx, &knowledgev1.RecallRequest{
		Principal: loaded.GetPrincipal(), AgentId: agent.GetId(), Input: loaded.GetTurn().GetInput(),
	})
	if err != nil {
		return nil, fmt.Errorf("recall facts: %w", err)
	}
	return resp.GetFacts(), nil
}

// refs are what a turn pins of recalled facts.
func refs(facts []*knowledgev1.RecalledFact) (out []*turnv1.FactRef) {
	for _, f := range facts {
		out = append(out, &turnv1.FactRef{FactId: f.GetFact().GetId(), Reason: f.GetReason()})
	}
	return out
}

// factTokens estimates what facts take of each prompt.
func factTokens(facts []*knowledgev1.RecalledFact) int32 {
	if len(facts) == 0 {
		return 0
	}
	all := make([]*knowledgev1.Fact, 0, len(facts))
	for _, f := range facts {
		all = append(all, f.GetFact())
	}
	return int32(tokens.Text(contract.MemoryPrompt(all)))
}

// withMemory returns the globs of an agent's tools, with the tool of one that writes memory.
func withMemory(agent *sessionsv1.Agent) []string {
	globs := agent.GetTools()
	if agent.GetMemory() == contract.MemoryWrite && !contract.Hosted(agent) && !glob.Any(globs, contract.Remember) {
		globs = append(globs[:len(globs):len(globs)], contract.Remember)
	}
	return globs
}

// withoutMemory takes the tool that writes memory from those of an agent that does not.
func withoutMemory(agent *sessionsv1.Agent, tools []*registryv1.Tool) []*registryv1.Tool {
	i := slices.IndexFunc(tools, func(t *registryv1.Tool) bool { return t.GetName() == contract.Remember })
	if i < 0 || agent.GetMemory() == contract.MemoryWrite {
		return tools
	}
	return slices.Delete(slices.Clone(tools), i, i+1)
}
