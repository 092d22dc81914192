package step

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/windlass-dev/windlass/libs/glob"
	"github.com/windlass-dev/windlass/libs/stack"
	inferencev1 "github.com/windlass-dev/windlass/proto/gen/windlass/inference/v1"
	registryv1 "github.com/windlass-dev/windlass/proto/gen/windlass/registry/v1"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/workflows/contract"
)

// begin pins what the turn may use: blueprint, model, tools, limits.
type begin struct{ *Runner }

func (begin) prepare(context.Context, *work) error { return nil }

func (b begin) do(ctx context.Context, w *work) (*sessionsv1.CommitStepRequest, error) {
	if w.cancelled {
		return &sessionsv1.CommitStepRequest{}, nil
	}
	loaded := w.loaded
	if loaded == nil {
		var err error
		if loaded, err = b.deps.Sessions.LoadTurn(ctx, &sessionsv1.LoadTurnRequest{TurnId: w.turn.TurnID}); err != nil {
			return nil, fmt.Errorf("load turn: %w", err)
		}
	}
	if why := loaded.GetUnresolved(); why != nil {
		return b.giveUp(w, why), nil
	}
	agent := loaded.GetAgent()
	model, usable, err := b.resolve(ctx, loaded)
	if err != nil {
		return nil, err
	}
	tools, reader := aside(agent, usable.GetTools())
	client, agents := loaded.GetClientTools(), usableAgents(loaded, usable)
	if agent.GetStrategy() == turnv1.Strategy_STRATEGY_DIRECT {
		client = nil
	}
	strategy, reason := choose(agent, len(tools)+len(client)+len(agents))
	surface := b.surface(agent, b.Now())
	strategy, reason = resume(loaded.GetRerun(), surface, strategy, reason)
	surface.Model, surface.Strategy, surface.Tools = model.GetName(), strategy, uint32(len(tools)+len(client)+len(agents))
	surface.SurfaceHash, surface.Price = surfaceHash(tools, agents), model.GetPrice()
	surface.PromptTokens, surface.MaxOutputTokens = promptTokens(agent, tools, client, agents), agent.GetMaxOutputTokens()
	b.bindContext(surface, agent, model)
	started := &turnv1.TurnStarted{
		AgentId: agent.GetId(), BlueprintRevision: agent.GetRevision(), Model: model.GetName(), SurfaceHash: surface.GetSurfaceHash(),
		Tools: toolNames(tools, agents, client),
	}
	pinned := make([]*sessionsv1.PinnedTool, len(tools))
	for i, t := range tools {
		pinned[i] = &sessionsv1.PinnedTool{Name: t.GetName(), DefinitionHash: t.GetDefinitionHash()}
	}
	if reader != nil {
		pinned = slices.Concat(pinned, []*sessionsv1.PinnedTool{reader})
	}
	events := []*turnv1.Event{{Data: &turnv1.Event_TurnStarted{TurnStarted: started}}}
	blocked, shields, err := b.shieldBegin(ctx, loaded)
	if err != nil {
		return nil, err
	}
	outcome := &turnv1.StepOutcome{Surface: surface}
	if outcome.ContextTokens, err = b.atBegin(ctx, w, loaded, surface); err != nil {
		return nil, err
	}
	if events = append(events, shields...); blocked {
		outcome.FinishReason = finishFiltered
	}
	events = append(events, resumedPlan(loaded.GetRerun())...)
	if strategy != turnv1.Strategy_STRATEGY_AUTO { // else the select step tells
		events = append(events, strategySelected(strategy, reason))
	}
	return &sessionsv1.CommitStepRequest{Outcome: outcome, Events: events, Tools: pinned, AgentTools: agents}, nil
}

// toolNames are the names of all tools that a turn begins with.
func toolNames(tools []*registryv1.Tool, agents []*sessionsv1.AgentTool, client []*sessionsv1.ClientTool) []string {
	var names []string
	for _, t := range tools {
		names = append(names, t.GetName())
	}
	for _, t := range agents {
		names = append(names, t.GetName())
	}
	for _, t := range client {
		names = append(names, clientPrefix+t.GetName())
	}
	return names
}

func strategySelected(strategy turnv1.Strategy, reason string) *turnv1.Event {
	return &turnv1.Event{Data: &turnv1.Event_StrategySelected{StrategySelected: &turnv1.StrategySelected{Strategy: strategy, Reason: reason}}}
}

// resolve asks, at the same time, for the agent's model and tools.
func (b begin) resolve(ctx context.Context, loaded *sessionsv1.LoadTurnResponse) (*inferencev1.Model, *registryv1.ResolveToolsResponse, error) {
	var tools *registryv1.ResolveToolsResponse
	var group errgroup.Group
	group.Go(func() (err error) {
		stack.Grow()
		tools, err = b.resolveTools(ctx, loaded)
		return err
	})
	named := loaded.GetAgent().GetModel()
	if contract.Hosted(loaded.GetAgent()) { // the executor has its own access to models
		err := group.Wait()
		return &inferencev1.Model{Name: or(named, "executor/"+loaded.GetAgent().GetExecutor().GetKind())}, tools, err
	}
	model, err := b.deps.Inference.ResolveModel(ctx, &inferencev1.ResolveModelRequest{Model: named})
	if err != nil {
		err = fmt.Errorf("resolve model %q: %w", named, err)
	}
	toolsErr := group.Wait()
	return model, tools, cmp.Or(err, toolsErr)
}

// resolveTools asks which tools the agent's globs stand for and its user may use. An agent that thinks directly is shown none.
func (b begin) resolveTools(ctx context.Context, loaded *sessionsv1.LoadTurnResponse) (*registryv1.ResolveToolsResponse, error) {
	agent := loaded.GetAgent()
	globs := agent.GetTools()
	if len(globs)+len(loaded.GetAgentTools()) == 0 || agent.GetStrategy() == turnv1.Strategy_STRATEGY_DIRECT {
		return nil, nil
	}
	if len(globs) > 0 && !glob.Any(globs, contract.ReadArtifact) { // offered once there is something to read
		globs = append(globs[:len(globs):len(globs)], contract.ReadArtifact)
	}
	resp, err := b.deps.Tools.ResolveTools(ctx, &registryv1.ResolveToolsRequest{
		Globs: globs, Principal: loaded.GetPrincipal(), Others: agentNames(loaded),
	})
	if err != nil {
		return nil, fmt.Errorf("resolve tools: %w", err)
	}
	b.remember(resp.GetTools())
	return resp, nil
}

// surface holds the agent's limits, with the mesh's where the agent names none.
func (b begin) surface(agent *sessionsv1.Agent, now time.Time) *turnv1.Surface {
	limits, defaults := agent.GetLimits(), b.cfg.Limits
	turnTime := defaults.TurnTime
	if s := limits.GetTurnSeconds(); s > 0 {
		turnTime = time.Duration(s) * time.Second
	}
	return &turnv1.Surface{
		AgentId: agent.GetId(), BlueprintRevision: agent.GetRevision(),
		MaxSteps:          or(limits.GetMaxSteps(), defaults.MaxSteps),
		MaxTokens:         or(limits.GetMaxTokens(), defaults.MaxTokens),
		MaxParallelTools:  or(limits.GetMaxParallelTools(), defaults.MaxParallelTools),
		MaxIdenticalCalls: or(limits.GetMaxIdenticalCalls(), defaults.MaxIdenticalCalls),
		DeadlineMicros:    now.Add(turnTime).UnixMicro(),
		MaxToolCalls:      limits.GetMaxToolCalls(),
		MaxCostMicros:     maxCost(limits),
		TurnSeconds:       uint32(turnTime / time.Second),
	}
}

func (begin) giveUp(_ *work, why *turnv1.TurnError) *sessionsv1.CommitStepRequest {
	return &sessionsv1.CommitStepRequest{Outcome: &turnv1.StepOutcome{Error: why}}
}

// choose picks the strategy and says why.
func choose(agent *sessionsv1.Agent, tools int) (turnv1.Strategy, string) {
	switch {
	case contract.Hosted(agent):
		return turnv1.Strategy_STRATEGY_REACT, "the agent's executor decides"
	case agent.GetStrategy() != turnv1.Strategy_STRATEGY_UNSPECIFIED:
		return agent.GetStrategy(), "the agent's blueprint says so"
	case tools > 0:
		return turnv1.Strategy_STRATEGY_REACT, "the agent has tools"
	case len(agent.GetTools()) > 0:
		return turnv1.Strategy_STRATEGY_DIRECT, "none of the agent's tools can be used now"
	default:
		return turnv1.Strategy_STRATEGY_DIRECT, "the agent has no tools"
	}
}

// surfaceHash stands for names and definitions of all tools, in order.
func surfaceHash(tools []*registryv1.Tool, agents []*sessionsv1.AgentTool) string {
	h := sha256.New()
	for _, t := range tools {
		fmt.Fprintf(h, "%s\x00%s\n", t.GetName(), t.GetDefinitionHash())
	}
	for _, a := range agents {
		fmt.Fprintf(h, "%s\x00%s\n", a.GetName(), a.GetDefinitionHash())
	}
	return hex.EncodeToString(h.Sum(nil))
}

func or[T comparable](value, otherwise T) T {
	var zero T
	if value == zero {
		return otherwise
	}
	return value
}
