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

// recall pins which facts about its user enter the prompts of a turn, and adds what they take to its estimate. Agents with an executor keep
// their own memory.
func (b begin) recall(ctx context.Context, loaded *step.Loaded, input string, surface *turnv1.Surface) error {
	agent := loaded.GetAgent()
	if m := agent.GetMemory(); b.Facts == nil || contract.Hosted(agent) || m != contract.MemoryRead && m != contract.MemoryWrite {
		return nil
	}
	resp, err := b.Facts.Recall(ctx, &knowledgev1.RecallRequest{
		Principal: loaded.GetPrincipal(), AgentId: agent.GetId(), Input: input,
	})
	if err != nil {
		return fmt.Errorf("recall facts: %w", err)
	}
	facts := make([]*knowledgev1.Fact, 0, len(resp.GetFacts()))
	for _, f := range resp.GetFacts() {
		surface.Facts = append(surface.Facts, &turnv1.FactRef{FactId: f.GetFact().GetId(), Reason: f.GetReason()})
		facts = append(facts, f.GetFact())
	}
	surface.PromptTokens += int32(tokens.Text(contract.MemoryPrompt(facts)))
	return nil
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
