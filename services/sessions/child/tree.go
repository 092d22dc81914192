package child

import (
	"context"
	"errors"

	"github.com/windlass-dev/windlass/libs/money"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/sessions/store"
	"github.com/windlass-dev/windlass/services/sessions/turn"
)

// Tree is a turn with the turns that it started.
type Tree struct {
	turn.View
	// CallID is the parent's call that started it, "" for the root; Background: the parent does not wait for it.
	CallID     string
	Background bool
	// Children are in the order in which they started.
	Children []Tree
	// Total is the usage of the turn and all its descendants.
	Total *turnv1.Usage
}

// Tree reads a turn of the caller and its descendants.
func (s *Service) Tree(ctx context.Context, turnID string) (Tree, error) {
	t, _, err := s.deps.Access.Turn(ctx, turnID)
	if err != nil {
		return Tree{}, err
	}
	descendants, err := byParent(ctx, s.deps.Store, t)
	if err != nil {
		return Tree{}, err
	}
	return s.tree(ctx, t.Tenant, t.ID, descendants)
}

// byParent returns the links of all descendants of a turn by parent, in the order in which they were begun.
func byParent(ctx context.Context, r treeReader, t store.Turn) (map[string][]store.Child, error) {
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

// addUsage adds to total what a turn and its descendants used.
func addUsage(ctx context.Context, r treeReader, total *turnv1.Usage, t store.Turn, descendants map[string][]store.Child) error {
	addUp(total, t.Usage)
	for _, c := range descendants[t.ID] {
		child, err := r.Turn(ctx, t.Tenant, c.TurnID)
		if errors.Is(err, store.ErrNotFound) {
			continue // it is about to be created
		}
		if err != nil {
			return err
		}
		if err := addUsage(ctx, r, total, child, descendants); err != nil {
			return err
		}
	}
	return nil
}

// tree reads a turn and its descendants. A child that is about to be made is left out.
func (s *Service) tree(ctx context.Context, tenant, turnID string, descendants map[string][]store.Child) (Tree, error) {
	v, err := s.deps.Turns.Read(ctx, tenant, turnID)
	if err != nil {
		return Tree{}, err
	}
	out := Tree{View: v, Total: &turnv1.Usage{}}
	addUp(out.Total, v.Usage)
	for _, c := range descendants[turnID] {
		if _, err := s.deps.Store.Turn(ctx, tenant, c.TurnID); errors.Is(err, store.ErrNotFound) {
			continue
		}
		sub, err := s.tree(ctx, tenant, c.TurnID, descendants)
		if err != nil {
			return Tree{}, err
		}
		sub.CallID, sub.Background = c.CallID, c.Background
		out.Children = append(out.Children, sub)
		addUp(out.Total, sub.Total)
	}
	return out, nil
}

// WaitingFor lists the IDs of the waits for people of a turn and of the sub-agents that it waits for.
func (s *Service) WaitingFor(ctx context.Context, t store.Turn) ([]string, error) {
	if t.Ended() || !t.Waiting() && t.Children == 0 {
		return nil, nil
	}
	descendants, err := byParent(ctx, s.deps.Store, t)
	if err != nil {
		return nil, err
	}
	var out []string
	for turns := []string{t.ID}; len(turns) > 0; turns = turns[1:] {
		waits, err := s.deps.Store.WaitsOf(ctx, t.Tenant, turns[0])
		if err != nil {
			return nil, err
		}
		for _, w := range waits {
			if w.Open() && w.ForPeople() {
				out = append(out, w.ID)
			}
		}
		for _, c := range descendants[turns[0]] {
			if !c.Background {
				turns = append(turns, c.TurnID)
			}
		}
	}
	return out, nil
}

// addUp adds what a turn used to a sum.
func addUp(sum, u *turnv1.Usage) {
	sum.InputTokens += u.GetInputTokens()
	sum.OutputTokens += u.GetOutputTokens()
	sum.CachedInputTokens += u.GetCachedInputTokens()
	sum.CacheWriteInputTokens += u.GetCacheWriteInputTokens()
	sum.ReasoningTokens += u.GetReasoningTokens()
	sum.ModelCalls += u.GetModelCalls()
	sum.ToolCalls += u.GetToolCalls()
	sum.CostMicros += u.GetCostMicros()
	sum.Cost = money.Text(sum.GetCostMicros())
	sum.LostCalls += u.GetLostCalls()
}
