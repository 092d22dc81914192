package step

import (
	"context"
	"fmt"
	"slices"

	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/tokens"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	inferencev1 "github.com/windlass-dev/windlass/proto/gen/windlass/inference/v1"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/workflows/contract"
	"github.com/windlass-dev/windlass/workflows/contract/stepkey"
)

const (
	// fillPercent is how much of a window conversation and answer may take before the conversation is compacted. The rest is for what estimates
	// miss.
	fillPercent = 80
	// usualOutput is what is kept free for the answer, in tokens, when nobody says how long it can be.
	usualOutput = 4096
	// maxReserved bounds what is kept free for the answer, as a part of the window.
	maxReserved = 4
	// minWindow is the least window that a conversation fits in.
	minWindow = 2000
	// bytesPerToken turns the size of a kept conversation into tokens. Text in most scripts has more bytes for each: what is thought to fit must fit.
	bytesPerToken = 3
)

// bindContext pins how much a model call of the turn may read: the model's window, or what the agent allows of it, and where the conversation is
// compacted. Executors keep their own conversation.
func (b begin) bindContext(surface *turnv1.Surface, agent *sessionsv1.Agent, model *inferencev1.Model) {
	if contract.Hosted(agent) {
		return
	}
	window := int64(or(model.GetContextWindow(), b.cfg.ContextWindow))
	if most := int64(agent.GetMaxContextTokens()); most > 0 {
		window = min(window, most)
	}
	output := int64(or(agent.GetMaxOutputTokens(), min(or(model.GetMaxOutputTokens(), usualOutput), usualOutput)))
	surface.ContextWindow = window
	surface.ContextTokens = window*fillPercent/100 - min(output, window/maxReserved)
}

// atBegin estimates what the first model step reads, from the size of the conversation as it is kept: nothing has to be read for it. Where that
// comes near to the bound the conversation is read and looked at; the model step does not read it again then.
func (b begin) atBegin(ctx context.Context, w *work, loaded *sessionsv1.LoadTurnResponse, surface *turnv1.Surface) (int64, error) {
	size := int64(surface.GetPromptTokens()) + loaded.GetContextBytes()/bytesPerToken
	if surface.GetContextTokens() == 0 || size <= surface.GetContextTokens() {
		return size, nil
	}
	history, err := b.deps.Sessions.GetContext(ctx, &sessionsv1.GetContextRequest{TurnId: w.turn.TurnID})
	if err != nil {
		return 0, fmt.Errorf("read context: %w", err)
	}
	if w.advance != nil {
		w.advance.read(stepkey.Infer(1), history)
	}
	size = int64(surface.GetPromptTokens()) + int64(tokens.Messages(history.GetMessages()))
	if history.GetTruncated() { // the journal gives no more at once: what it left out is to be summed up
		size = max(size, surface.GetContextTokens()+1)
	}
	return size, nil
}

// tooLong tells whether a provider refuses a conversation because it is too long.
func tooLong(err error) bool { return fault.Is(err, faultv1.Reason_REASON_CONTEXT_TOO_LONG) }

// ofTurn leaves in a request what belongs to a turn, and what we ask ourselves. It tells whether that was all there was.
func ofTurn(req *inferencev1.GenerateRequest, turnID string) bool {
	n := len(req.GetMessages())
	req.Messages = slices.DeleteFunc(slices.Clone(req.GetMessages()), func(m *turnv1.Message) bool {
		return m.GetTurnId() != turnID && m.GetTurnId() != ""
	})
	return len(req.GetMessages()) == n
}
