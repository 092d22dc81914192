package pinned

import (
	"context"
	"fmt"
	"slices"

	executionv1 "github.com/windlass-dev/windlass/proto/gen/windlass/execution/v1"
	inferencev1 "github.com/windlass-dev/windlass/proto/gen/windlass/inference/v1"
	registryv1 "github.com/windlass-dev/windlass/proto/gen/windlass/registry/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/workflows/contract"
	"github.com/windlass-dev/windlass/workflows/contract/passage"
	"github.com/windlass-dev/windlass/workflows/turn/step"
	"github.com/windlass-dev/windlass/workflows/turn/step/toolsearch"
)

// toolDefinitions returns the pinned tools as a model reads them.
func (c *Cache) toolDefinitions(ctx context.Context, pinned []*executionv1.PinnedTool) ([]*inferencev1.ToolDefinition, error) {
	if err := c.fetch(ctx, pinned); err != nil {
		return nil, err
	}
	out := make([]*inferencev1.ToolDefinition, 0, len(pinned))
	for _, p := range pinned {
		if def, ok := c.definitions.Get(p.GetDefinitionHash()); ok {
			out = append(out, &inferencev1.ToolDefinition{
				Name: p.GetName(), Description: def.GetDescription(), InputSchemaJson: def.GetInputSchemaJson(),
			})
		}
	}
	return out, nil
}

// Definitions returns all tools of a turn as a model reads them: the pinned ones, its sub-agents, then those of its client.
func (c *Cache) Definitions(
	ctx context.Context, loaded *step.Loaded, conversation []*turnv1.Message,
) ([]*inferencev1.ToolDefinition, error) {
	called := calledFor(loaded.GetTools(), conversation)
	var pair []*inferencev1.ToolDefinition
	if c.Searches(loaded) {
		pair = toolsearch.Definitions(len(loaded.GetTools()))
		called = slices.DeleteFunc(slices.Clone(called), func(p *executionv1.PinnedTool) bool { return !shown(loaded, p) })
	}
	tools, err := c.toolDefinitions(ctx, called)
	return slices.Concat(pair, tools, agentDefinitions(loaded), clientTools(loaded)), err
}

// Searches reports whether a turn has too many tools to show them to its model. Executors choose for themselves.
func (c *Cache) Searches(loaded *step.Loaded) bool {
	return c.TooMany(len(loaded.GetTools())) && !contract.Hosted(loaded.GetAgent())
}

// TooMany reports whether tools are too many to show them to a model.
func (c *Cache) TooMany(tools int) bool { return tools > c.maxShown }

// Hidden reports whether a tool of a turn is one that its model is not shown.
func (c *Cache) Hidden(loaded *step.Loaded, tool string) bool {
	return slices.ContainsFunc(loaded.GetTools(), func(p *executionv1.PinnedTool) bool {
		return p.GetName() == tool && !shown(loaded, p)
	})
}

// shown reports whether a model is shown a tool beside the pair: that of artifacts, those that read documents, and the one that the agent
// has it call.
func shown(loaded *step.Loaded, p *executionv1.PinnedTool) bool {
	return p.GetWithArtifacts() || passage.IsTool(p.GetName()) || p.GetName() == loaded.GetAgent().GetGeneration().GetToolChoice()
}

// Named returns those of the named tools that a turn has pinned, in the order of the names, as a model reads them.
func (c *Cache) Named(ctx context.Context, loaded *step.Loaded, names []string, limit int) ([]*inferencev1.ToolDefinition, error) {
	byName := make(map[string]*executionv1.PinnedTool, len(loaded.GetTools()))
	for _, p := range loaded.GetTools() {
		byName[p.GetName()] = p
	}
	var wanted []*executionv1.PinnedTool
	for _, name := range names {
		if p := byName[name]; p != nil && len(wanted) < limit {
			wanted = append(wanted, p)
		}
	}
	return c.toolDefinitions(ctx, wanted)
}

// fetch reads those that are not in the cache. One that the registry has no more stays unknown: no model reads it.
func (c *Cache) fetch(ctx context.Context, pinned []*executionv1.PinnedTool) error {
	var missing []string
	for _, p := range pinned {
		if !c.definitions.Contains(p.GetDefinitionHash()) {
			missing = append(missing, p.GetDefinitionHash())
		}
	}
	if len(missing) == 0 {
		return nil
	}
	resp, err := c.registry.GetDefinitions(ctx, &registryv1.GetDefinitionsRequest{Hashes: missing})
	if err != nil {
		return fmt.Errorf("read tool definitions: %w", err)
	}
	c.KeepDefinitions(resp.GetTools())
	return nil
}

// KeepDefinitions takes definitions that were read for another purpose.
func (c *Cache) KeepDefinitions(tools []*registryv1.Tool) {
	for _, t := range tools {
		c.definitions.Add(t.GetDefinitionHash(), t)
	}
}

// Effect says what may be repeated of the calls of a pinned tool, as far as its definition is in the cache.
func (c *Cache) Effect(t *step.Loaded, tool string) turnv1.EffectClass {
	def, _ := c.definitions.Peek(DefinitionHash(t, tool))
	return def.GetEffect()
}

// ReadEffect is Effect that reads the definition if it is not in the cache.
func (c *Cache) ReadEffect(ctx context.Context, t *step.Loaded, tool string) (turnv1.EffectClass, error) {
	for _, p := range t.GetTools() {
		if p.GetName() == tool {
			if err := c.fetch(ctx, []*executionv1.PinnedTool{p}); err != nil {
				return 0, err
			}
		}
	}
	return c.Effect(t, tool), nil
}

// DefinitionHash returns the definition that a turn pinned for a tool, empty for a tool that the model made up.
func DefinitionHash(t *step.Loaded, tool string) string {
	for _, p := range t.GetTools() {
		if p.GetName() == tool {
			return p.GetDefinitionHash()
		}
	}
	return ""
}

// calledFor returns the pinned tools that a conversation calls for: the reader of artifacts only once there is an artifact.
func calledFor(pinned []*executionv1.PinnedTool, conversation []*turnv1.Message) []*executionv1.PinnedTool {
	i := slices.IndexFunc(pinned, (*executionv1.PinnedTool).GetWithArtifacts)
	if i < 0 || slices.ContainsFunc(conversation, hasArtifact) {
		return pinned
	}
	return slices.Delete(slices.Clone(pinned), i, i+1)
}

// hasArtifact reports whether a message refers to an artifact, as files of users are.
func hasArtifact(m *turnv1.Message) bool {
	return len(m.GetToolResult().GetArtifactIds()) > 0 ||
		slices.ContainsFunc(m.GetContent(), func(p *turnv1.ContentPart) bool { return p.GetFile() != nil })
}
