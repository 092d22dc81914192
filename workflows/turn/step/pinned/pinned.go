// Package pinned reads what a turn has pinned when it began (its agent, its surface, the definitions of its tools) and the calls of its
// messages, and keeps them: none of it changes once it is committed.
package pinned

import (
	"context"

	lru "github.com/hashicorp/golang-lru/v2"
	"google.golang.org/grpc"

	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/placeholder"
	executionv1 "github.com/windlass-dev/windlass/proto/gen/windlass/execution/v1"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	registryv1 "github.com/windlass-dev/windlass/proto/gen/windlass/registry/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/workflows/turn/step"
)

const (
	turnsKept       = 1024
	definitionsKept = 8192
	callsKept       = 4096
)

// journal is what is asked of the sessions service.
type journal interface {
	LoadTurn(context.Context, *executionv1.LoadTurnRequest, ...grpc.CallOption) (*step.Loaded, error)
	GetToolCall(context.Context, *executionv1.GetToolCallRequest, ...grpc.CallOption) (*turnv1.ToolCall, error)
}

// registry is what is asked of the registry.
type registry interface {
	GetDefinitions(context.Context, *registryv1.GetDefinitionsRequest, ...grpc.CallOption) (*registryv1.GetDefinitionsResponse, error)
}

// Cache reads turns, definitions and calls, each once as a rule. It is safe for concurrent use.
type Cache struct {
	worker      string
	maxShown    int
	journal     journal
	registry    registry
	turns       *lru.Cache[string, *step.Loaded]     // by turn, begun ones only
	definitions *lru.Cache[string, *registryv1.Tool] // by definition hash
	calls       *lru.Cache[string, *turnv1.ToolCall] // by turn, message and call
	resolve     placeholder.Lookup                   // nil = Here
}

// NewViewer returns a cache for requests that are shown instead of sent, by a process that runs no steps: ${runner.*} stays as it is
// written. Only what is made of a loaded turn can be read from it.
func NewViewer(maxShown int, tools registry) *Cache {
	c := New("", maxShown, nil, tools)
	c.resolve = func(ref placeholder.Ref) (string, *placeholder.Error) { return ref.String(), nil }
	return c
}

// New returns an empty cache of the worker with the given name. A model is shown at most maxShown tools of sources; of turns with more it
// is shown how to find and call them.
func New(worker string, maxShown int, sessions journal, tools registry) *Cache {
	return &Cache{
		worker: worker, maxShown: maxShown, journal: sessions, registry: tools,
		turns:       must(lru.New[string, *step.Loaded](turnsKept)),
		definitions: must(lru.New[string, *registryv1.Tool](definitionsKept)),
		calls:       must(lru.New[string, *turnv1.ToolCall](callsKept)),
	}
}

// must is for constructors that fail on a constant of ours only.
func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

// Turn returns a turn that has begun.
func (c *Cache) Turn(ctx context.Context, turnID string) (*step.Loaded, error) {
	if t, ok := c.turns.Get(turnID); ok {
		return t, nil
	}
	t, err := c.journal.LoadTurn(ctx, &executionv1.LoadTurnRequest{TurnId: turnID})
	if err != nil {
		return nil, err
	}
	if t.GetSurface() == nil {
		return nil, fault.FailedPrecondition(faultv1.Reason_REASON_FAILED_PRECONDITION, "turn %s has not begun", turnID)
	}
	if why := t.GetUnresolved(); why != nil {
		return nil, fault.FailedPrecondition(faultv1.Reason_REASON_INVALID_BLUEPRINT, "%s", why.GetMessage())
	}
	c.turns.Add(turnID, t)
	return t, nil
}

// KeepTurn takes a turn that has begun.
func (c *Cache) KeepTurn(turnID string, t *step.Loaded) { c.turns.Add(turnID, t) }

// KeepCall takes a call of a message that is about to be committed.
func (c *Cache) KeepCall(turnID, messageID string, call *turnv1.ToolCall) {
	c.calls.Add(callKey(turnID, messageID, call.GetCallId()), call)
}

func callKey(turnID, messageID, callID string) string {
	return turnID + "\x00" + messageID + "\x00" + callID
}

// Call returns a call of a committed message.
func (c *Cache) Call(ctx context.Context, turnID string, ref *turnv1.ToolCallRef) (*turnv1.ToolCall, error) {
	key := callKey(turnID, ref.GetMessageId(), ref.GetCallId())
	if call, ok := c.calls.Get(key); ok {
		return call, nil
	}
	return c.journal.GetToolCall(ctx, &executionv1.GetToolCallRequest{
		TurnId: turnID, MessageId: ref.GetMessageId(), CallId: ref.GetCallId(),
	})
}
