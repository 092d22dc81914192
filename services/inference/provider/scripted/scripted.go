package scripted

import (
	"context"
	"fmt"
	"strings"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"google.golang.org/grpc/codes"

	"github.com/windlass-dev/windlass/libs/backoff"
	"github.com/windlass-dev/windlass/libs/fault"
	estimate "github.com/windlass-dev/windlass/libs/tokens"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/inference/provider"
	"github.com/windlass-dev/windlass/workflows/contract"
	"github.com/windlass-dev/windlass/workflows/contract/passage"
)

// ModelName is the only model.
const ModelName = "scripted"

// rememberedFailures limits how many steps "fail:once" remembers.
const rememberedFailures = 4096

// Kind implements provider.Kind.
type Kind struct{}

// Traits implements provider.Kind.
func (Kind) Traits() provider.Traits {
	return provider.Traits{Name: "scripted", DefaultModel: ModelName, Features: features, BuiltIn: true, Sheet: sheet}
}

// Provider implements provider.Provider.
type Provider struct {
	failed *lru.Cache[string, struct{}]
}

// New implements provider.Kind.
func (Kind) New(provider.Config) (provider.Provider, error) {
	failed, err := lru.New[string, struct{}](rememberedFailures)
	if err != nil {
		return nil, err
	}
	return &Provider{failed: failed}, nil
}

// Models implements provider.Provider.
func (*Provider) Models(context.Context) ([]string, error) { return []string{ModelName}, nil }

// Generate implements provider.Provider.
func (p *Provider) Generate(ctx context.Context, req provider.Request, emit func(provider.Delta) error) (provider.Finished, error) {
	req, tries := withoutRepairs(req)
	req, speak := understand(req)
	here := locate(req.Messages)
	s, err := parse(here.text)
	if err != nil {
		return provider.Finished{}, fault.FailedPrecondition(faultv1.Reason_REASON_MODEL_REJECTED, "builtin/scripted: %v", err).
			Hint("Correct the directive in the message.")
	}
	s.facts = contract.FactsIn(req.Instructions)
	if err := pause(ctx, s.first); err != nil {
		return provider.Finished{}, err
	}
	if err := p.fail(s, req, here.text); err != nil {
		return provider.Finished{}, err
	}
	s = s.chosen(req, tries)
	r := shape{req}.of(s, speak(s, here), here)
	whole, err := r.stream(ctx, s.slow, req.MaxOutputTokens, emit)
	if err != nil {
		return provider.Finished{}, err
	}
	if !whole {
		r.finish = provider.Length
	}
	return provider.Finished{Reason: r.finish, Model: ModelName}, nil
}

// fail returns the error that the script requests, if any.
func (p *Provider) fail(s script, req provider.Request, text string) error {
	switch s.fail {
	case "always":
		return fault.FailedPrecondition(faultv1.Reason_REASON_MODEL_REJECTED, "builtin/scripted: the message asks for fail:always").
			Hint("Remove fail:always from the message.")
	case "once":
		key := req.TurnID + "\x00" + req.Step
		if req.TurnID == "" {
			key += "\x00" + text
		}
		if known, _ := p.failed.ContainsOrAdd(key, struct{}{}); !known {
			return fault.New(codes.Unavailable, faultv1.Reason_REASON_MODEL_UNAVAILABLE, "builtin/scripted: the message asks for fail:once").
				Hint("Try again: the next attempt succeeds.")
		}
	}
	return nil
}

// place is a position in a conversation.
type place struct {
	text    string               // the last user message
	step    int                  // model steps with calls since then
	results []*turnv1.ToolResult // results received since then
	blobs   []*turnv1.Blob       // what is no text in both
	// found are passages that were found for the message before the model was asked, "" if there are none.
	found string
}

func locate(messages []*turnv1.Message) place {
	var p place
	for _, m := range messages {
		switch m.GetRole() {
		case turnv1.Role_ROLE_USER:
			found := ""
			if strings.HasPrefix(p.text, passage.PromptMark) {
				found = p.text
			}
			p = place{text: provider.Text(m.GetContent()), blobs: blobsOf(m.GetContent()), found: found}
		case turnv1.Role_ROLE_ASSISTANT:
			if len(m.GetToolCalls()) > 0 {
				p.step++
			}
		case turnv1.Role_ROLE_TOOL:
			if m.GetToolResult() != nil {
				p.results = append(p.results, m.GetToolResult())
				p.blobs = append(p.blobs, blobsOf(m.GetToolResult().GetContent())...)
			}
		}
	}
	return p
}

// call is a tool call to make.
type call struct{ tool, arguments string }

// reply is one answer of the model.
type reply struct {
	think, text string
	calls       []call
	step        int
	finish      string
}

// argumentPiece is the number of argument bytes per delta.
const argumentPiece = 24

// stream emits the answer word by word, up to most tokens (0 is all). It reports whether that was the whole answer.
func (r reply) stream(ctx context.Context, slow time.Duration, most int, emit func(provider.Delta) error) (whole bool, err error) {
	var deltas []provider.Delta
	for _, w := range words(r.think) {
		deltas = append(deltas, provider.Delta{Reasoning: w})
	}
	for _, w := range words(r.text) {
		deltas = append(deltas, provider.Delta{Text: w})
	}
	for i, c := range r.calls {
		d := &provider.CallDelta{Index: i, ID: fmt.Sprintf("scr_%d_%d", r.step+1, i), Tool: c.tool}
		for _, piece := range pieces(c.arguments, argumentPiece) {
			d.Arguments = piece
			deltas = append(deltas, provider.Delta{Call: d})
			d = &provider.CallDelta{Index: i}
		}
	}
	written := 0
	for i, d := range deltas {
		if written += size(d); most > 0 && written > most {
			return false, ctx.Err()
		}
		if i > 0 {
			if err := pause(ctx, slow); err != nil {
				return false, err
			}
		}
		if err := emit(d); err != nil {
			return false, err
		}
	}
	return true, ctx.Err()
}

// size returns a piece's token count, as the usage estimate counts it.
func size(d provider.Delta) int {
	n := estimate.Text(d.Text) + estimate.Text(d.Reasoning)
	if d.Call != nil {
		n += estimate.Text(d.Call.Arguments)
	}
	return n
}

// words splits after spaces, so that the parts concatenate to the text.
func words(text string) []string {
	if text == "" {
		return nil
	}
	return strings.SplitAfter(text, " ")
}

// pieces splits at character boundaries.
func pieces(text string, size int) []string {
	var out []string
	start := 0
	for i := range text {
		if i-start >= size {
			out, start = append(out, text[start:i]), i
		}
	}
	return append(out, text[start:])
}

// pause waits, or returns the reason why ctx ended.
func pause(ctx context.Context, d time.Duration) error {
	if backoff.Sleep(ctx, d) != nil {
		return context.Cause(ctx)
	}
	return nil
}
