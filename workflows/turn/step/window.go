package step

import (
	inferencev1 "github.com/windlass-dev/windlass/proto/gen/windlass/inference/v1"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/workflows/contract"
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

// atBegin estimates what the first model step reads, from the size of the conversation as it is kept: nothing has to be read for it.
func atBegin(loaded *sessionsv1.LoadTurnResponse, surface *turnv1.Surface) int64 {
	return int64(surface.GetPromptTokens()) + loaded.GetContextBytes()/bytesPerToken
}
