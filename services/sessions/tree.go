package sessions

import (
	"context"
	"errors"

	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/sessions/api/convert"
	"github.com/windlass-dev/windlass/services/sessions/store"
)

// GetTurnTree implements TurnService.
func (s *Service) GetTurnTree(ctx context.Context, req *sessionsv1.GetTurnTreeRequest) (*sessionsv1.TurnTree, error) {
	t, _, err := s.access.Turn(ctx, req.GetTurnId())
	if err != nil {
		return nil, err
	}
	descendants, err := childrenByParent(ctx, s.store, t)
	if err != nil {
		return nil, err
	}
	return s.tree(ctx, t.Tenant, t.ID, descendants)
}

// childrenByParent returns the links of all descendants of a turn by parent, in the order in which they were begun.
func childrenByParent(ctx context.Context, r treeReader, t store.Turn) (map[string][]store.Child, error) {
	if t.Children == 0 {
		return nil, nil
	}
	root := t.ID
	if t.AgentPath != "" {
		c, err := r.Child(ctx, t.Tenant, t.ID)
		if err != nil {
			return nil, err
		}
		root = c.RootTurnID
	}
	links, err := r.ChildrenBelow(ctx, t.Tenant, root)
	if err != nil {
		return nil, err
	}
	byParent := map[string][]store.Child{}
	for _, c := range links {
		byParent[c.ParentTurnID] = append(byParent[c.ParentTurnID], c)
	}
	return byParent, nil
}

// addTreeUsage adds to total what a turn and its descendants used.
func addTreeUsage(ctx context.Context, r treeReader, total *turnv1.Usage, t store.Turn, descendants map[string][]store.Child) error {
	used, err := convert.Usage(t)
	if err != nil {
		return err
	}
	addUsageOf(total, used)
	for _, c := range descendants[t.ID] {
		child, err := r.Turn(ctx, t.Tenant, c.TurnID)
		if errors.Is(err, store.ErrNotFound) {
			continue // it is about to be created
		}
		if err != nil {
			return err
		}
		if err := addTreeUsage(ctx, r, total, child, descendants); err != nil {
			return err
		}
	}
	return nil
}

// tree reads a turn and its descendants. A child that is about to be made is left out.
func (s *Service) tree(ctx context.Context, tenant, turn string, descendants map[string][]store.Child) (*sessionsv1.TurnTree, error) {
	t, err := s.readTurn(ctx, tenant, turn)
	if err != nil {
		return nil, err
	}
	out := &sessionsv1.TurnTree{Turn: t, TotalUsage: &turnv1.Usage{}}
	addUsageOf(out.GetTotalUsage(), t.GetUsage())
	for _, c := range descendants[turn] {
		if _, err := s.store.Turn(ctx, tenant, c.TurnID); errors.Is(err, store.ErrNotFound) {
			continue
		}
		sub, err := s.tree(ctx, tenant, c.TurnID, descendants)
		if err != nil {
			return nil, err
		}
		sub.CallId, sub.Background = c.CallID, c.Background
		out.Children = append(out.Children, sub)
		addUsageOf(out.GetTotalUsage(), sub.GetTotalUsage())
	}
	return out, nil
}

func addUsageOf(sum, u *turnv1.Usage) {
	sum.InputTokens += u.GetInputTokens()
	sum.OutputTokens += u.GetOutputTokens()
	sum.CachedInputTokens += u.GetCachedInputTokens()
	sum.ReasoningTokens += u.GetReasoningTokens()
	sum.ModelCalls += u.GetModelCalls()
	sum.ToolCalls += u.GetToolCalls()
	sum.CostMicros += u.GetCostMicros()
	sum.LostCalls += u.GetLostCalls()
}
