package begin

import (
	"cmp"
	"context"
	"fmt"

	"github.com/windlass-dev/windlass/libs/tokens"
	executionv1 "github.com/windlass-dev/windlass/proto/gen/windlass/execution/v1"
	inferencev1 "github.com/windlass-dev/windlass/proto/gen/windlass/inference/v1"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/workflows/contract"
	"github.com/windlass-dev/windlass/workflows/contract/stepkey"
	"github.com/windlass-dev/windlass/workflows/turn/step"
)

// MinWindow is the least context window that a conversation fits in, in tokens.
const MinWindow = 2000

const (
	// fillPercent is how much of a window conversation and answer may take before the conversation is compacted. The rest is for what
	// estimates miss.
	fillPercent = 80
	// usualOutput is the number of tokens reserved for the answer if its length is not known.
	usualOutput = 4096
	// maxReserved bounds what is kept free for the answer, as a part of the window.
	maxReserved = 4
)

// bindContext pins how much a model call of the turn may read: the model's window, or what the agent allows of it, and where the
// conversation is compacted. Executors keep their own conversation.
func (b begin) bindContext(surface *turnv1.Surface, agent *sessionsv1.Agent, model *inferencev1.Model) {
	if contract.Hosted(agent) {
		return
	}
	window := int64(cmp.Or(model.GetContextWindow(), b.ContextWindow))
	if most := int64(agent.GetMaxContextTokens()); most > 0 {
		window = min(window, most)
	}
	output := int64(cmp.Or(agent.GetMaxOutputTokens(), min(cmp.Or(model.GetMaxOutputTokens(), usualOutput), usualOutput)))
	surface.ContextWindow = window
	surface.ContextTokens = window*fillPercent/100 - min(output, window/maxReserved)
}

// contextSize estimates what the first model step reads, from the size of the conversation as it is kept: nothing has to be read for it.
// Where that comes near to the bound the conversation is read and counted; the model step does not read it again then.
func (b begin) contextSize(ctx context.Context, loaded *step.Loaded, surface *turnv1.Surface) (int64, error) {
	size := int64(surface.GetPromptTokens()) + loaded.GetContextBytes()/contract.BytesPerToken
	if surface.GetContextTokens() == 0 || size <= surface.GetContextTokens() {
		return size, nil
	}
	history, err := b.firstContext(ctx)
	if err != nil {
		return 0, err
	}
	size = int64(surface.GetPromptTokens()) + int64(tokens.Messages(history.GetMessages()))
	if history.GetTruncated() { // the journal gives no more at once: what it left out is to be summed up
		size = max(size, surface.GetContextTokens()+1)
	}
	return size, nil
}

// firstContext returns what the first model step reads: what the runner has read with the turn, or what the journal has.
func (b begin) firstContext(ctx context.Context) (*step.History, error) {
	if b.Memory != nil {
		if known := b.Memory.Recall(stepkey.Infer(1)); known != nil {
			return known, nil
		}
	}
	history, err := b.Sessions.GetContext(ctx, &executionv1.GetContextRequest{TurnId: b.Turn.TurnID})
	if err != nil {
		return nil, fmt.Errorf("read context: %w", err)
	}
	if b.Memory != nil {
		b.Memory.Keep(stepkey.Infer(1), history)
	}
	return history, nil
}
