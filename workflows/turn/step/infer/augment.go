package infer

import (
	"context"
	"fmt"
	"slices"

	knowledgev1 "github.com/windlass-dev/windlass/proto/gen/windlass/knowledge/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/workflows/contract/passage"
	"github.com/windlass-dev/windlass/workflows/contract/stepkey"
	"github.com/windlass-dev/windlass/workflows/turn/step/shield"
)

// augment returns the conversation with a message of the passages that the turn has found before its request, and adds them to what the
// answer can cite. Their texts are read for each call: a passage that the user may no longer read is in no later prompt.
func (i *infer) augment(ctx context.Context, p *prompt, messages []*turnv1.Message) ([]*turnv1.Message, error) {
	refs := i.Loaded.GetSurface().GetPassages()
	if len(refs) == 0 || i.Facts == nil {
		return messages, nil
	}
	resp, err := i.Facts.ReadPassages(ctx, &knowledgev1.ReadPassagesRequest{Principal: i.Loaded.GetPrincipal(), Refs: refs})
	if err != nil {
		return nil, fmt.Errorf("read passages: %w", err)
	}
	found, err := i.checkPassages(ctx, p, passage.Found(i.Turn.TurnID, refs, resp.GetPassages()))
	if err != nil || len(found) == 0 {
		return messages, err
	}
	p.tainted, p.sources = true, p.sources.With(found)
	at := max(slices.IndexFunc(messages, func(m *turnv1.Message) bool { return m.GetTurnId() == i.Turn.TurnID }), 0)
	return slices.Insert(slices.Clone(messages), at, &turnv1.Message{
		Role: turnv1.Role_ROLE_USER, Content: []*turnv1.ContentPart{textPart(passage.Prompt(found))}, Tainted: true,
	}), nil
}

// checkPassages returns passages as the shields of results leave them, without those that are blocked. The first model step of a turn
// reports what they have found.
func (i *infer) checkPassages(ctx context.Context, p *prompt, found []passage.Passage) ([]passage.Passage, error) {
	texts := make([]string, len(found))
	for n, f := range found {
		texts[n] = f.Quote
	}
	checked, err := i.Shields.Check(ctx, i.Loaded, shield.StageResult, texts...)
	if shield.Failed(err) != "" { // no text may be used unchecked
		return nil, nil
	}
	if err != nil || checked == nil {
		return found, err
	}
	if i.Ref.GetKey() == stepkey.Infer(1) {
		p.found = shield.Triggered(shield.StageResult, "", checked)
	}
	var out []passage.Passage
	for n, c := range checked {
		if c.GetRedacted() {
			found[n].Quote = c.GetText()
		}
		if !c.GetBlocked() {
			out = append(out, found[n])
		}
	}
	return out, nil
}
