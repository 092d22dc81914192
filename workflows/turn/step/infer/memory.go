package infer

import (
	"context"
	"fmt"

	knowledgev1 "github.com/windlass-dev/windlass/proto/gen/windlass/knowledge/v1"
	"github.com/windlass-dev/windlass/workflows/contract"
)

// instructed are the instructions of a model call: those of the agent and the facts that the turn has recalled.
type instructed struct {
	own   string
	facts []*knowledgev1.Fact
}

// text returns the instructions as a model reads them.
func (i instructed) text() string {
	facts := contract.MemoryPrompt(i.facts)
	if i.own == "" || facts == "" {
		return i.own + facts
	}
	return i.own + "\n\n" + facts
}

// instructions reads those of the agent, and the facts that the turn has recalled. They are read for each call: one that the user has had
// forgotten meanwhile is in no later prompt.
func (i *infer) instructions(ctx context.Context) (instructed, error) {
	own, err := i.Pinned.Instructions(i.Loaded.GetAgent())
	refs := i.Loaded.GetSurface().GetFacts()
	if err != nil || len(refs) == 0 || i.Facts == nil {
		return instructed{own: own}, err
	}
	req := &knowledgev1.ReadFactsRequest{Principal: i.Loaded.GetPrincipal()}
	for _, ref := range refs {
		req.FactIds = append(req.FactIds, ref.GetFactId())
	}
	resp, err := i.Facts.ReadFacts(ctx, req)
	if err != nil {
		return instructed{}, fmt.Errorf("read facts: %w", err)
	}
	return instructed{own, resp.GetFacts()}, nil
}
