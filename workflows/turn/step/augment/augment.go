// Package augment has the model calls of a turn read the passages of documents that it found when it began.
package augment

import (
	"context"
	"fmt"
	"slices"

	"google.golang.org/grpc"

	"github.com/windlass-dev/windlass/libs/tokens"
	knowledgev1 "github.com/windlass-dev/windlass/proto/gen/windlass/knowledge/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/workflows/contract/passage"
	"github.com/windlass-dev/windlass/workflows/contract/stepkey"
	"github.com/windlass-dev/windlass/workflows/turn/step"
	"github.com/windlass-dev/windlass/workflows/turn/step/shield"
)

// Passages are what a model call reads of the passages of its turn.
type Passages struct {
	// Found are the passages as the shields of results leave them, without those that are blocked.
	Found []passage.Passage
	// Events say which shields found something in them. The first model step of a turn reports it.
	Events []*turnv1.Event
	// message has the passages; nil if there are none.
	message *turnv1.Message
}

// Reader is what is asked of the knowledge service.
type Reader interface {
	ReadPassages(context.Context, *knowledgev1.ReadPassagesRequest, ...grpc.CallOption) (*knowledgev1.ReadPassagesResponse, error)
}

// Read reads the passages of a turn for a model call: one that the user may no longer read is in no later prompt. Without from there are
// none.
func Read(ctx context.Context, w *step.Work, from Reader, shields *shield.Checker) (Passages, error) {
	refs := w.Loaded.GetSurface().GetPassages()
	if len(refs) == 0 || from == nil {
		return Passages{}, nil
	}
	resp, err := from.ReadPassages(ctx, &knowledgev1.ReadPassagesRequest{Principal: w.Loaded.GetPrincipal(), Refs: refs})
	if err != nil {
		return Passages{}, fmt.Errorf("read passages: %w", err)
	}
	p, err := check(ctx, w, shields, passage.Found(w.Turn.TurnID, refs, resp.GetPassages()))
	if err == nil && len(p.Found) > 0 {
		p.message = &turnv1.Message{
			Role: turnv1.Role_ROLE_USER, Tainted: true,
			Content: []*turnv1.ContentPart{{Part: &turnv1.ContentPart_Text{Text: passage.Prompt(p.Found)}}},
		}
	}
	return p, err
}

// check returns passages as the shields of results leave them.
func check(ctx context.Context, w *step.Work, shields *shield.Checker, found []passage.Passage) (out Passages, _ error) {
	quotes := make([]string, len(found))
	for n, f := range found {
		quotes[n] = f.Quote
	}
	checked, err := shields.Check(ctx, w.Loaded, shield.StageResult, quotes...)
	if shield.Failed(err) != "" { // no text may be used unchecked
		return out, nil
	}
	if err != nil || checked == nil {
		return Passages{Found: found}, err
	}
	if w.Ref.GetKey() == stepkey.Infer(1) {
		out.Events = shield.Triggered(shield.StageResult, "", checked)
	}
	for n, c := range checked {
		if c.GetRedacted() {
			found[n].Quote = c.GetText()
		}
		if !c.GetBlocked() {
			out.Found = append(out.Found, found[n])
		}
	}
	return out, nil
}

// Into returns a conversation with a message of the passages before the request of a turn.
func (p Passages) Into(messages []*turnv1.Message, turnID string) []*turnv1.Message {
	if p.message == nil {
		return messages
	}
	at := max(slices.IndexFunc(messages, func(m *turnv1.Message) bool { return m.GetTurnId() == turnID }), 0)
	return slices.Insert(slices.Clone(messages), at, p.message)
}

// Tokens estimates what the message takes of a conversation.
func (p Passages) Tokens() int {
	if p.message == nil {
		return 0
	}
	return tokens.Message(p.message)
}
