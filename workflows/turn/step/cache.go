package step

import (
	"context"
	"fmt"
	"slices"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/windlass-dev/windlass/libs/fault"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	inferencev1 "github.com/windlass-dev/windlass/proto/gen/windlass/inference/v1"
	registryv1 "github.com/windlass-dev/windlass/proto/gen/windlass/registry/v1"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
)

const (
	turnsKept       = 1024
	definitionsKept = 8192
	callsKept       = 4096
)

// cache keeps what never changes once it is committed, so that the steps of a turn need not read it each time.
type cache struct {
	turns       *lru.Cache[string, *sessionsv1.LoadTurnResponse] // by turn, begun ones only
	definitions *lru.Cache[string, *registryv1.Tool]             // by definition hash
	calls       *lru.Cache[string, *turnv1.ToolCall]             // by turn, message and call
	stages      *lru.Cache[string, stagesSeen]                   // by names of shields; these may change
}

func newCache() *cache {
	return &cache{
		turns:       must(lru.New[string, *sessionsv1.LoadTurnResponse](turnsKept)),
		definitions: must(lru.New[string, *registryv1.Tool](definitionsKept)),
		calls:       must(lru.New[string, *turnv1.ToolCall](callsKept)),
		stages:      must(lru.New[string, stagesSeen](turnsKept)),
	}
}

// must is for constructors that fail on a constant of ours only.
func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

// load reads a turn that has begun.
func (r *Runner) load(ctx context.Context, turnID string) (*sessionsv1.LoadTurnResponse, error) {
	if t, ok := r.cache.turns.Get(turnID); ok {
		return t, nil
	}
	t, err := r.deps.Sessions.LoadTurn(ctx, &sessionsv1.LoadTurnRequest{TurnId: turnID})
	if err != nil {
		return nil, err
	}
	if t.GetSurface() == nil {
		return nil, fault.FailedPrecondition(faultv1.Reason_REASON_FAILED_PRECONDITION, "turn %s has not begun", turnID)
	}
	if why := t.GetUnresolved(); why != nil {
		return nil, fault.FailedPrecondition(faultv1.Reason_REASON_INVALID_BLUEPRINT, "%s", why.GetMessage())
	}
	r.cache.turns.Add(turnID, t)
	return t, nil
}

// tools gives the pinned tools as the model is shown them.
func (r *Runner) tools(ctx context.Context, pinned []*sessionsv1.PinnedTool) ([]*inferencev1.ToolDefinition, error) {
	if err := r.fetchDefinitions(ctx, pinned); err != nil {
		return nil, err
	}
	out := make([]*inferencev1.ToolDefinition, 0, len(pinned))
	for _, p := range pinned {
		if def, ok := r.cache.definitions.Get(p.GetDefinitionHash()); ok {
			out = append(out, &inferencev1.ToolDefinition{
				Name: p.GetName(), Description: def.GetDescription(), InputSchemaJson: def.GetInputSchemaJson(),
			})
		}
	}
	return out, nil
}

// shown are all tools of a turn as the model is shown them: the pinned ones, its sub-agents, then those of its client.
func (r *Runner) shown(
	ctx context.Context, loaded *sessionsv1.LoadTurnResponse, conversation []*turnv1.Message,
) ([]*inferencev1.ToolDefinition, error) {
	tools, err := r.tools(ctx, calledFor(loaded.GetTools(), conversation))
	return slices.Concat(tools, agentDefinitions(loaded), clientTools(loaded)), err
}

// fetchDefinitions reads those that are not in the cache. One that the registry does not know any more stays unknown: the model is
// not shown it.
func (r *Runner) fetchDefinitions(ctx context.Context, pinned []*sessionsv1.PinnedTool) error {
	var missing []string
	for _, p := range pinned {
		if !r.cache.definitions.Contains(p.GetDefinitionHash()) {
			missing = append(missing, p.GetDefinitionHash())
		}
	}
	if len(missing) == 0 {
		return nil
	}
	resp, err := r.deps.Tools.GetDefinitions(ctx, &registryv1.GetDefinitionsRequest{Hashes: missing})
	if err != nil {
		return fmt.Errorf("read tool definitions: %w", err)
	}
	r.remember(resp.GetTools())
	return nil
}

func (r *Runner) remember(tools []*registryv1.Tool) {
	for _, t := range tools {
		r.cache.definitions.Add(t.GetDefinitionHash(), t)
	}
}

func callKey(turnID, messageID, callID string) string {
	return turnID + "\x00" + messageID + "\x00" + callID
}

// toolCall reads a call of a committed message.
func (r *Runner) toolCall(ctx context.Context, turnID string, ref *turnv1.ToolCallRef) (*turnv1.ToolCall, error) {
	key := callKey(turnID, ref.GetMessageId(), ref.GetCallId())
	if call, ok := r.cache.calls.Get(key); ok {
		return call, nil
	}
	return r.deps.Sessions.GetToolCall(ctx, &sessionsv1.GetToolCallRequest{
		TurnId: turnID, MessageId: ref.GetMessageId(), CallId: ref.GetCallId(),
	})
}
