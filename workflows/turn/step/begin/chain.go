package begin

import (
	"context"
	"slices"

	inferencev1 "github.com/windlass-dev/windlass/proto/gen/windlass/inference/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/workflows/contract"
	"github.com/windlass-dev/windlass/workflows/turn/step"
)

// resolveChain asks for the models of a turn. A re-run that names a model has this one only, and so has a turn whose request does. The
// modalities of the input are read if a route depends on them.
func (b begin) resolveChain(ctx context.Context, loaded *step.Loaded) (*inferencev1.Chain, error) {
	agent := loaded.GetAgent()
	if loaded.GetRerun().GetModel() != "" {
		m, err := b.Inference.ResolveModel(ctx, &inferencev1.ResolveModelRequest{Model: agent.GetModel()})
		return only(m), err
	}
	req := &inferencev1.ResolveChainRequest{
		AgentId: agent.GetId(), Model: agent.GetModel(), Fallbacks: agent.GetFallbacks(), Principal: loaded.GetPrincipal(),
		SessionId: b.Turn.SessionID, Size: loaded.GetContextBytes() / contract.BytesPerToken, Chosen: loaded.GetModelChosen(),
	}
	chain, err := b.Inference.ResolveChain(ctx, req)
	if err != nil || !chain.GetNeedsModalities() {
		return chain, err
	}
	history, err := b.firstContext(ctx)
	if err != nil {
		return nil, err
	}
	req.Modalities = contract.Modalities(inputOf(history.GetMessages(), b.Turn.TurnID)...)
	return b.Inference.ResolveChain(ctx, req)
}

// only returns the chain of one model.
func only(m *inferencev1.Model) *inferencev1.Chain {
	return &inferencev1.Chain{Targets: []*inferencev1.ChainTarget{{Model: m}}}
}

// inputOf returns the content of a turn's input.
func inputOf(messages []*turnv1.Message, turn string) (content []*turnv1.ContentPart) {
	for _, m := range messages {
		if m.GetTurnId() == turn && m.GetRole() == turnv1.Role_ROLE_USER {
			content = append(content, m.GetContent()...)
		}
	}
	return content
}

// pinChain pins the models that are called when the first one fails.
func pinChain(surface *turnv1.Surface, chain *inferencev1.Chain) {
	for _, t := range chain.GetTargets()[1:] {
		surface.Fallbacks = append(surface.Fallbacks, &turnv1.Target{Model: t.GetModel().GetName(), Price: t.GetModel().GetPrice()})
	}
	if surface.Route = chain.GetRoute(); surface.GetRoute() != "" {
		surface.RouteRevision = chain.GetRevision()
	}
	surface.SwitchOnFilter = chain.GetSwitchOnFilter()
}

// priced reports whether all models of a chain have a price.
func priced(chain *inferencev1.Chain) bool {
	return !slices.ContainsFunc(chain.GetTargets(), func(t *inferencev1.ChainTarget) bool { return t.GetModel().GetPrice() == nil })
}

// fallbacks are the names of the models after the first one.
func fallbacks(chain *inferencev1.Chain) (names []string) {
	for _, t := range chain.GetTargets()[1:] {
		names = append(names, t.GetModel().GetName())
	}
	return names
}
