package infer

import (
	"context"
	"fmt"

	knowledgev1 "github.com/windlass-dev/windlass/proto/gen/windlass/knowledge/v1"
	"github.com/windlass-dev/windlass/workflows/contract"
)

// instructions returns those of the agent, and the facts that the turn has recalled. They are read for each call: one that the user has had
// forgotten meanwhile is in no later prompt.
func (i *infer) instructions(ctx context.Context) (string, error) {
	own, err := i.Pinned.Instructions(i.Loaded.GetAgent())
	refs := i.Loaded.GetSurface().GetFacts()
	if err != nil || len(refs) == 0 || i.Facts == nil {
		return own, err
	}
	req := &knowledgev1.ReadFactsRequest{Principal: i.Loaded.GetPrincipal()}
	for _, ref := range refs {
		req.FactIds = append(req.FactIds, ref.GetFactId())
	}
	resp, err := i.Facts.ReadFacts(ctx, req)
	if err != nil {
		return "", fmt.Errorf("read facts: %w", err)
	}
	facts := contract.MemoryPrompt(resp.GetFacts())
	if own == "" || facts == "" {
		return own + facts, nil
	}
	return own + "\n\n" + facts, nil
}
