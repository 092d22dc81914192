// Package provider defines the interface of model providers, and what its implementations share: the text forms of content and the mapping
// of failures.
package provider

import (
	"context"
	"time"

	"github.com/windlass-dev/windlass/services/inference/provider/feature"

	"github.com/windlass-dev/windlass/libs/secret"
	inferencev1 "github.com/windlass-dev/windlass/proto/gen/windlass/inference/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
)

// Provider calls models. Implementations are safe for concurrent use, do not retry and keep no conversation.
type Provider interface {
	// Generate calls a model once. It calls emit for each piece in order, from the calling goroutine, and returns emit's error unchanged. The
	// end of ctx ends the call at once. Failures are *fault.Error with the codes and reasons that InferenceService.Generate lists; the end of
	// ctx may be returned as any error.
	Generate(ctx context.Context, req Request, emit func(Delta) error) (Finished, error)
	// Models lists the names of the available models, without the provider's part, in the provider's order.
	Models(ctx context.Context) ([]string, error)
}

// Described is a provider that takes another part of its API than the kind's Traits say.
type Described interface {
	// Sheet returns what the provider takes. It is constant.
	Sheet() Sheet
}

// Located is a provider whose models take what the host says that they are at.
type Located interface {
	// Host returns the host by which rows of the kind's Features are found. It is constant.
	Host() string
}

// Moderator is a provider with an endpoint that judges texts.
type Moderator interface {
	// Moderate returns one result for each text. A zero key means the provider's own.
	Moderate(ctx context.Context, model string, texts []string, key secret.Value) ([]Moderation, error)
}

// Moderation is what a provider says of one text.
type Moderation struct {
	// Flagged means that the provider objects to it.
	Flagged bool
	// Categories are those that apply, in any order.
	Categories []string
}

// Request is one model call.
type Request struct {
	// Model is the provider's own name of the model.
	Model string
	// Instructions are for the system role; may be empty.
	Instructions string
	// Messages is the conversation, oldest first. Shared with the caller: read only.
	Messages []*turnv1.Message
	// Tools are the available tools. Shared with the caller: read only.
	Tools []*inferencev1.ToolDefinition
	// MaxOutputTokens limits the answer; 0 means the provider's default.
	MaxOutputTokens int
	// ContextWindow is the number of tokens that the model can read and write together; 0 if that is unknown.
	ContextWindow int
	// Temperature is nil for the provider's default.
	Temperature *float64
	// Generation says how the model writes its answer; nil leaves it to the provider. Shared with the caller: read only.
	Generation *turnv1.Generation
	// Output is the form of the answer, nil for text.
	Output *Output
	// Answer is the tool whose arguments are the answer, "" for none. Without it the request is not sent.
	Answer string
	// APIKey replaces the provider's own key; zero does not.
	APIKey secret.Value
	// RefuseContent refuses files of the turn's own input that the model does not take; all others are replaced by texts.
	RefuseContent bool
	// TurnID and Step identify what the call is for; either may be empty.
	TurnID, Step string
}

// Output is the form of an answer.
type Output struct {
	// Schema is a JSON Schema of type object.
	Schema string
	// Native: the provider is given the schema as far as the kind can.
	Native bool
}

// Delta is one piece of an answer. The zero value only means that the provider is alive.
type Delta struct {
	// Text is more of the answer.
	Text string
	// Reasoning is more of the reasoning before it.
	Reasoning string
	// Call is more of a tool call.
	Call *CallDelta
	// Withheld is the number of bytes that the provider sent and that come with a later piece.
	Withheld int
}

// CallDelta is more of a tool call.
type CallDelta struct {
	// Index is the call's position in the answer, from 0, without gaps.
	Index int
	// ID is the provider's id, complete in the first delta of the call; empty if the provider has none.
	ID string
	// Tool is the tool's name, complete in the first delta of the call.
	Tool string
	// Arguments is JSON text to append.
	Arguments string
}

// Reasons why a model stopped.
const (
	// Stop is the end of the answer.
	Stop = "stop"
	// ToolCalls means that the model waits for the results of its calls.
	ToolCalls = "tool_calls"
	// Length means that the answer was truncated at the output limit or at the end of the context window.
	Length = "length"
	// ContentFilter means that the provider, or the model, refused to continue.
	ContentFilter = "content_filter"
)

// Finished is the end of a complete answer.
type Finished struct {
	// Reason is Stop, ToolCalls, Length or ContentFilter.
	Reason string
	// Model is the model that answered if the provider says so, else empty.
	Model string
	// Usage is nil if the provider reported none.
	Usage *Usage
	// Verbatim is what the provider wants back with the answer, nil for nothing.
	Verbatim *turnv1.Verbatim
	// Warnings say what of the request was not offered to the model; at most 20.
	Warnings []string
	// OutputMode is how the model was made to answer in the form of the request.
	OutputMode feature.OutputMode
	// Rest is how long the provider takes no further calls with this key: its quota is used up. 0 if it says nothing of the kind.
	Rest time.Duration
}

// Usage counts the tokens of one call.
type Usage struct {
	// Input counts the tokens read, CachedInput those of them from the provider's cache, and CacheWrite those that it stored there.
	Input, CachedInput, CacheWrite int64
	// Output counts the tokens written, Reasoning those of them that were reasoning.
	Output, Reasoning int64
}
