package modelcall

import (
	"context"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/truncate"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/inference/catalog"
	"github.com/windlass-dev/windlass/services/inference/provider"
)

const (
	// guardsAtOnce bounds the conversations with a guard model for one request.
	guardsAtOnce = 4
	// guardTokens is more than "unsafe" and all categories need.
	guardTokens = 128
	// maxCategories bounds the categories of one result, and maxCategory the bytes of one.
	maxCategories = 64
	maxCategory   = 64
)

// Moderate has the provider's endpoint judge texts and returns one result for each. turnID is the turn that they are part of.
func (c *Caller) Moderate(ctx context.Context, m catalog.Model, turnID string, texts []string) ([]provider.Moderation, error) {
	endpoint, ok := m.Provider.Provider.(provider.Moderator)
	if !ok {
		return nil, fault.FailedPrecondition(faultv1.Reason_REASON_MODEL_REJECTED, "the provider %q has no moderation endpoint", m.Provider.Name).
			Hint("Use a provider of kind openai.")
	}
	key, callers, err := c.catalog.Key(ctx, m, turnID)
	if err != nil {
		return nil, err
	}
	found, err := endpoint.Moderate(ctx, m.Name, texts, key)
	if ctx.Err() == nil && !callers {
		m.Provider.NoteResult(err)
	}
	c.meter.record(ctx, m, 0, nil, err)
	if err != nil {
		return nil, err
	}
	for i := range found {
		found[i].Categories = truncate.Names(found[i].Categories, maxCategories, maxCategory)
	}
	return found, nil
}

// Guard asks a guard model about each text in a conversation of its own, as Moderate does.
func (c *Caller) Guard(ctx context.Context, m catalog.Model, turnID string, texts []string) ([]provider.Moderation, error) {
	out := make([]provider.Moderation, len(texts))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(guardsAtOnce)
	for i, text := range texts {
		group.Go(func() error {
			said := &whole{}
			cold := 0.0
			_, err := c.Generate(ctx, m, provider.Request{
				TurnID: turnID, MaxOutputTokens: guardTokens, Temperature: &cold,
				Messages: []*turnv1.Message{{Role: turnv1.Role_ROLE_USER, Content: []*turnv1.ContentPart{
					{Part: &turnv1.ContentPart_Text{Text: text}},
				}}},
			}, said)
			if err != nil {
				return err
			}
			out[i], err = verdict(m.FullName(), said.Text)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	return out, nil
}

// verdict reads what a guard model says.
func verdict(model, text string) (provider.Moderation, error) {
	first, rest, _ := strings.Cut(strings.TrimSpace(text), "\n")
	switch strings.ToLower(strings.TrimSpace(first)) {
	case "safe":
		return provider.Moderation{}, nil
	case "unsafe":
		names := strings.FieldsFunc(rest, func(r rune) bool { return r == ',' || r == '\n' })
		return provider.Moderation{Flagged: true, Categories: truncate.Names(names, maxCategories, maxCategory)}, nil
	}
	return provider.Moderation{}, provider.Broken("%s answered neither safe nor unsafe", model).
		Hint("Use a guard model, for example of the family Llama Guard.")
}

// whole keeps the end of an answer.
type whole struct{ Answer }

// Piece implements Receiver.
func (*whole) Piece(provider.Delta) error { return nil }

// Finish implements Receiver.
func (w *whole) Finish(a *Answer) error {
	w.Answer = *a
	return nil
}
