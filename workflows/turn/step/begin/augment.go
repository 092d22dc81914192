package begin

import (
	"context"
	"fmt"

	"github.com/windlass-dev/windlass/libs/tokens"
	knowledgev1 "github.com/windlass-dev/windlass/proto/gen/windlass/knowledge/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/workflows/contract"
	"github.com/windlass-dev/windlass/workflows/contract/passage"
	"github.com/windlass-dev/windlass/workflows/turn/step"
)

// augment pins which passages of the agent's banks enter the prompts of a turn, and adds what they take to its estimate. It pins where they
// are; each model step reads their texts.
func (b begin) augment(ctx context.Context, loaded *step.Loaded, input string, surface *turnv1.Surface) error {
	agent := loaded.GetAgent()
	if agent.GetAugment() == nil || len(agent.GetBanks()) == 0 || b.Facts == nil || contract.Hosted(agent) {
		return nil
	}
	resp, err := b.Facts.FindPassages(ctx, &knowledgev1.FindPassagesRequest{
		Principal: loaded.GetPrincipal(), BankIds: agent.GetBanks(), Input: input, Budget: agent.GetAugment(),
	})
	if err != nil {
		return fmt.Errorf("find passages: %w", err)
	}
	for _, p := range resp.GetPassages() {
		surface.Passages = append(surface.Passages, p.GetRef())
	}
	if len(surface.GetPassages()) == 0 {
		return nil
	}
	shown := passage.Found(loaded.GetTurn().GetId(), surface.GetPassages(), resp.GetPassages())
	surface.PromptTokens += int32(tokens.Text(passage.Prompt(shown)))
	return nil
}
