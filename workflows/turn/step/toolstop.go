package step

import (
	"context"
	"time"

	registryv1 "github.com/windlass-dev/windlass/proto/gen/windlass/registry/v1"
)

// stopPatience bounds the wait for the registry to take note of a stopped call.
const stopPatience = time.Second

// stop has the registry end the call with a key, which else would run on: only a lost worker leaves it alone. A registry that cannot be
// reached has nothing to stop, or will find nobody who waits.
func (t tool) stop(ctx context.Context, w *work, key string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopPatience)
	defer cancel()
	if _, err := t.deps.Tools.StopCall(ctx, &registryv1.StopCallRequest{Key: key}); err != nil {
		t.deps.Log.WarnContext(ctx, "a tool call was not stopped", "turn", w.turn.TurnID, "step", w.ref.GetKey(), "error", err)
	}
}
