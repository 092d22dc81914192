// Package trial makes small calls of a model and says which features it honours. It calls the inference service as its clients do.
package trial

import (
	"context"
	"slices"
	"strings"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/truncate"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	inferencev1 "github.com/windlass-dev/windlass/proto/gen/windlass/inference/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
)

// Service is the part of the inference service that is called.
type Service interface {
	// Say makes a model call, and returns the number of its pieces of text and its end.
	Say(ctx context.Context, req *inferencev1.GenerateRequest) (pieces int, end *inferencev1.Finished, err error)
	// Embed, Rerank and CountTokens are those of the service.
	Embed(ctx context.Context, req *inferencev1.EmbedRequest) (*inferencev1.EmbedResponse, error)
	Rerank(ctx context.Context, req *inferencev1.RerankRequest) (*inferencev1.RerankResponse, error)
	CountTokens(ctx context.Context, req *inferencev1.CountTokensRequest) (*inferencev1.CountTokensResponse, error)
}

// Outcomes, for short.
const (
	honoured = inferencev1.ModelCheckOutcome_MODEL_CHECK_OUTCOME_HONOURED
	refused  = inferencev1.ModelCheckOutcome_MODEL_CHECK_OUTCOME_REFUSED
	broken   = inferencev1.ModelCheckOutcome_MODEL_CHECK_OUTCOME_BROKEN
	skipped  = inferencev1.ModelCheckOutcome_MODEL_CHECK_OUTCOME_SKIPPED
)

// result is what a check found.
type result struct {
	outcome inferencev1.ModelCheckOutcome
	reason  string
}

// check tries one feature.
type check struct {
	name string
	run  func(ctx context.Context, m *Model) (result, error)
}

// checks are all, in the order in which they are run.
func checks() []check {
	return []check{
		{"text", text},
		{"stream", stream},
		{"system", system},
		{"tool_call", toolCall},
		{"parallel_calls", parallelCalls},
		{"tool_result", toolResult},
		{"tool_choice", toolChoice},
		{"structured_output", structuredOutput},
		{"image", image},
		{"reasoning", reasoning},
		{"stop", stop},
		{"usage", usage},
		{"too_long", tooLong},
		{"embeddings", embeddings},
		{"rerank", rerank},
		{"count_tokens", countTokens},
	}
}

// Names returns the names of all checks, in order.
func Names() (names []string) {
	for _, c := range checks() {
		names = append(names, c.name)
	}
	return names
}

// Model is a model under trial.
type Model struct {
	// Name is the model's full name, and Window its context window; 0 = unknown.
	Name   string
	Window int
	// Service is called.
	Service Service
	// Used sums up what the calls have used.
	Used *turnv1.Usage
}

// maxReason bounds a reason, in characters.
const maxReason = 300

// Run runs the checks with some names, all of them if there are none. The error is that of an unknown name.
func (m *Model) Run(ctx context.Context, names []string) ([]*inferencev1.ModelCheck, error) {
	if len(names) == 0 {
		names = Names()
	}
	for _, name := range names {
		if !slices.Contains(Names(), name) {
			return nil, fault.Invalid("checks", "no check %q", name).Hint("Checks: %s.", strings.Join(Names(), ", "))
		}
	}
	var out []*inferencev1.ModelCheck
	for _, name := range names {
		c := checks()[slices.Index(Names(), name)]
		began := time.Now()
		found, err := c.run(ctx, m)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err != nil {
			found = failed(err)
		}
		out = append(out, &inferencev1.ModelCheck{
			Name: name, Outcome: found.outcome, Reason: truncate.Chars(found.reason, maxReason),
			DurationMs: int32(time.Since(began).Milliseconds()),
		})
	}
	return out, nil
}

// failed tells a refusal by name from a call that failed.
func failed(err error) result {
	f := fault.From(err)
	switch {
	case f.Reason == faultv1.Reason_REASON_MODEL_REJECTED, f.Reason == faultv1.Reason_REASON_CONTEXT_TOO_LONG,
		f.Code == codes.InvalidArgument:
		return result{refused, f.Message}
	}
	return result{broken, f.Message}
}

// say makes a call and counts what it used.
func (m *Model) say(ctx context.Context, req *inferencev1.GenerateRequest) (int, *inferencev1.Finished, error) {
	req.Model = m.Name
	if req.GetMaxOutputTokens() == 0 {
		req.MaxOutputTokens = answerTokens
	}
	pieces, end, err := m.Service.Say(ctx, req)
	if u := end.GetUsage(); u != nil {
		m.Used.InputTokens += u.GetInputTokens()
		m.Used.OutputTokens += u.GetOutputTokens()
		m.Used.ReasoningTokens += u.GetReasoningTokens()
		m.Used.CachedInputTokens += u.GetCachedInputTokens()
		m.Used.ModelCalls++
	}
	return pieces, end, err
}

// answerTokens bounds an answer: enough for one that is thought about.
const answerTokens = 2000

func user(text string) *turnv1.Message {
	return &turnv1.Message{Role: turnv1.Role_ROLE_USER, Content: []*turnv1.ContentPart{textPart(text)}}
}

func textPart(text string) *turnv1.ContentPart {
	return &turnv1.ContentPart{Part: &turnv1.ContentPart_Text{Text: text}}
}

// ask is a request with one message.
func ask(text string) *inferencev1.GenerateRequest {
	return &inferencev1.GenerateRequest{Messages: []*turnv1.Message{user(text)}}
}

// saw quotes the begin of an answer.
func saw(text string) string {
	return "it answered " + truncate.Chars(strings.Join(strings.Fields(text), " "), 80)
}
