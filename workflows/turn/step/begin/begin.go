// Package begin does the first step of a turn: it pins what the turn may use, blueprint, model, tools and limits.
package begin

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc"

	"github.com/windlass-dev/windlass/libs/glob"
	"github.com/windlass-dev/windlass/libs/stack"
	executionv1 "github.com/windlass-dev/windlass/proto/gen/windlass/execution/v1"
	inferencev1 "github.com/windlass-dev/windlass/proto/gen/windlass/inference/v1"
	knowledgev1 "github.com/windlass-dev/windlass/proto/gen/windlass/knowledge/v1"
	registryv1 "github.com/windlass-dev/windlass/proto/gen/windlass/registry/v1"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/workflows/contract"
	"github.com/windlass-dev/windlass/workflows/contract/passage"
	"github.com/windlass-dev/windlass/workflows/turn/step"
	"github.com/windlass-dev/windlass/workflows/turn/step/model"
	"github.com/windlass-dev/windlass/workflows/turn/step/pinned"
	"github.com/windlass-dev/windlass/workflows/turn/step/shield"
)

// journal is what is asked of the sessions service.
type journal interface {
	LoadTurn(context.Context, *executionv1.LoadTurnRequest, ...grpc.CallOption) (*step.Loaded, error)
	GetContext(context.Context, *executionv1.GetContextRequest, ...grpc.CallOption) (*step.History, error)
}

// tools is what is asked of the registry.
type tools interface {
	ResolveTools(context.Context, *registryv1.ResolveToolsRequest, ...grpc.CallOption) (*registryv1.ResolveToolsResponse, error)
}

// models is what is asked of the inference service.
type models interface {
	ResolveModel(context.Context, *inferencev1.ResolveModelRequest, ...grpc.CallOption) (*inferencev1.Model, error)
	ResolveChain(context.Context, *inferencev1.ResolveChainRequest, ...grpc.CallOption) (*inferencev1.Chain, error)
}

// memory is what is asked of the knowledge service.
type memory interface {
	Recall(context.Context, *knowledgev1.RecallRequest, ...grpc.CallOption) (*knowledgev1.RecallResponse, error)
	FindPassages(context.Context, *knowledgev1.FindPassagesRequest, ...grpc.CallOption) (*knowledgev1.FindPassagesResponse, error)
}

// Deps are what begin steps work with. All but Facts are required.
type Deps struct {
	Sessions  journal
	Tools     tools
	Inference models
	Pinned    *pinned.Cache
	Shields   *shield.Checker
	// Facts recalls facts about users and finds passages of documents; without it there are none.
	Facts memory
	// Now is the time by which deadlines are set.
	Now func() time.Time
	// ContextWindow is what a model is taken to read and write, in tokens, when neither agent nor provider says.
	ContextWindow int32
}

// Kind is that of begin steps.
type Kind struct{ Deps }

// Prepare implements step.Kind.
func (k Kind) Prepare(_ context.Context, w *step.Work) (step.Action, error) {
	return begin{k.Deps, w}, nil
}

// begin is one begin step.
type begin struct {
	Deps
	*step.Work
}

// Do implements step.Action.
func (b begin) Do(ctx context.Context) (*step.Commit, error) {
	if b.Cancelled {
		return &step.Commit{}, nil
	}
	loaded, err := b.load(ctx)
	if err != nil {
		return nil, err
	}
	if why := loaded.GetUnresolved(); why != nil {
		return b.GiveUp(why), nil
	}
	agent := loaded.GetAgent()
	chain, usable, err := b.resolve(ctx, loaded)
	if err != nil {
		return nil, err
	}
	bound := chain.GetTargets()[0].GetModel()
	own, reader := aside(agent, withoutMemory(agent, usable.GetTools()))
	own, others := split(agent, own)
	client, agents := loaded.GetClientTools(), append(usableAgents(loaded, usable), others...)
	if agent.GetStrategy() == turnv1.Strategy_STRATEGY_DIRECT {
		client = nil
	}
	surface := newSurface(agent, b.Now())
	surface.Model, surface.Tools, surface.Price = bound.GetName(), uint32(len(own)+len(client)+len(agents)), bound.GetPrice()
	shown := own
	if b.Pinned.TooMany(len(own)) && !contract.Hosted(agent) { // the model finds them
		shown = nil
	}
	pinChain(surface, chain)
	surface.SurfaceHash, surface.PromptTokens = surfaceHash(own, agents), promptTokens(agent, shown, client, agents)
	input, err := b.Shields.Input(ctx, loaded)
	if err != nil {
		return nil, err
	}
	if err := b.retrieve(ctx, loaded, input, surface); err != nil {
		return nil, err
	}
	surface.Unpriced = !contract.Hosted(agent) && !priced(chain)
	surface.MaxOutputTokens, surface.StructuredOutput = agent.GetMaxOutputTokens(), agent.GetOutputSchema() != nil
	strategy, reason := resume(loaded.GetRerun(), surface, agent)
	surface.Strategy = strategy
	b.bindContext(surface, agent, bound)
	events := []*turnv1.Event{started(surface, chain, toolNames(own, agents, client))}
	outcome := &turnv1.StepOutcome{Surface: surface}
	if outcome.ContextTokens, err = b.contextSize(ctx, loaded, surface); err != nil {
		return nil, err
	}
	if events = append(events, input.Events...); input.Blocked {
		outcome.FinishReason = model.FinishFiltered
	}
	events = append(events, resumedPlan(loaded.GetRerun())...)
	if strategy != turnv1.Strategy_STRATEGY_AUTO { // else the select step reports it
		events = append(events, step.StrategySelected(strategy, reason))
	}
	return &step.Commit{Outcome: outcome, Events: events, Tools: pins(own, reader), AgentTools: agents}, nil
}

// retrieve pins what enters the prompts of a turn by itself, facts and passages. Both are searched for the input as shields leave it, which
// models may read; nothing is if it is blocked.
func (b begin) retrieve(ctx context.Context, loaded *step.Loaded, input shield.Input, surface *turnv1.Surface) error {
	if input.Blocked {
		return nil
	}
	if err := b.recall(ctx, loaded, input.Text, surface); err != nil {
		return err
	}
	return b.augment(ctx, loaded, input.Text, surface)
}

// load reads the turn, unless the runner has done so.
func (b begin) load(ctx context.Context) (*step.Loaded, error) {
	if b.Loaded != nil {
		return b.Loaded, nil
	}
	loaded, err := b.Sessions.LoadTurn(ctx, &executionv1.LoadTurnRequest{TurnId: b.Turn.TurnID})
	if err != nil {
		return nil, fmt.Errorf("load turn: %w", err)
	}
	return loaded, nil
}

// started is the event of a turn that has begun.
func started(s *turnv1.Surface, chain *inferencev1.Chain, tools []string) *turnv1.Event {
	return &turnv1.Event{Data: &turnv1.Event_TurnStarted{TurnStarted: &turnv1.TurnStarted{
		AgentId: s.GetAgentId(), BlueprintRevision: s.GetBlueprintRevision(), Model: s.GetModel(), SurfaceHash: s.GetSurfaceHash(),
		Tools: tools, Fallbacks: fallbacks(chain), Route: chain.GetRoute(), RouteRevision: s.GetRouteRevision(),
		Facts: s.GetFacts(), Passages: s.GetPassages(),
	}}}
}

// pins are the definitions that the turn keeps to.
func pins(own []*registryv1.Tool, reader *executionv1.PinnedTool) []*executionv1.PinnedTool {
	out := make([]*executionv1.PinnedTool, len(own), len(own)+1)
	for i, t := range own {
		out[i] = &executionv1.PinnedTool{Name: t.GetName(), DefinitionHash: t.GetDefinitionHash()}
	}
	if reader != nil {
		out = append(out, reader)
	}
	return out
}

// toolNames are the names of all tools that a turn begins with.
func toolNames(tools []*registryv1.Tool, agents []*executionv1.AgentTool, client []*sessionsv1.ClientTool) []string {
	var names []string
	for _, t := range tools {
		names = append(names, t.GetName())
	}
	for _, t := range agents {
		names = append(names, t.GetName())
	}
	for _, t := range client {
		names = append(names, pinned.ClientPrefix+t.GetName())
	}
	return names
}

// resolve asks, at the same time, for the turn's models and tools.
func (b begin) resolve(ctx context.Context, loaded *step.Loaded) (*inferencev1.Chain, *registryv1.ResolveToolsResponse, error) {
	var tools *registryv1.ResolveToolsResponse
	var group errgroup.Group
	group.Go(func() (err error) {
		stack.GrowDeep()
		tools, err = b.resolveTools(ctx, loaded)
		return err
	})
	named := loaded.GetAgent().GetModel()
	if contract.Hosted(loaded.GetAgent()) { // the executor has its own access to models
		err := group.Wait()
		return only(&inferencev1.Model{Name: cmp.Or(named, "executor/"+loaded.GetAgent().GetExecutor().GetKind())}), tools, err
	}
	chain, err := b.resolveChain(ctx, loaded)
	if err != nil {
		err = fmt.Errorf("resolve model %q: %w", named, err)
	}
	toolsErr := group.Wait()
	return chain, tools, cmp.Or(err, toolsErr)
}

// resolveTools asks which tools the agent's globs stand for and its user may use. An agent that thinks directly is shown none, and only one
// with banks is shown those that read documents.
func (b begin) resolveTools(ctx context.Context, loaded *step.Loaded) (*registryv1.ResolveToolsResponse, error) {
	agent := loaded.GetAgent()
	globs := withMemory(agent)
	if len(agent.GetBanks()) > 0 {
		globs = slices.Concat(globs, passage.Tools())
	}
	if len(globs)+len(loaded.GetAgentTools()) == 0 || agent.GetStrategy() == turnv1.Strategy_STRATEGY_DIRECT {
		return nil, nil
	}
	if len(globs) > 0 && !glob.Any(globs, contract.ReadArtifact) { // offered once there is something to read
		globs = append(globs[:len(globs):len(globs)], contract.ReadArtifact)
	}
	resp, err := b.Tools.ResolveTools(ctx, &registryv1.ResolveToolsRequest{
		Globs: globs, Principal: loaded.GetPrincipal(), Others: pinned.AgentNames(loaded),
	})
	if err != nil {
		return nil, fmt.Errorf("resolve tools: %w", err)
	}
	b.Pinned.KeepDefinitions(resp.GetTools())
	if len(agent.GetBanks()) == 0 {
		resp.Tools = slices.DeleteFunc(resp.GetTools(), func(t *registryv1.Tool) bool { return passage.IsTool(t.GetName()) })
	}
	return resp, nil
}

// GiveUp implements step.Action.
func (begin) GiveUp(why *turnv1.TurnError) *step.Commit {
	return &step.Commit{Outcome: &turnv1.StepOutcome{Error: why}}
}
