package inference

import (
	"context"
	"strings"

	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc/codes"

	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/truncate"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	inferencev1 "github.com/windlass-dev/windlass/proto/gen/windlass/inference/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
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

// Moderate implements InferenceService.
func (s *Service) Moderate(ctx context.Context, req *inferencev1.ModerateRequest) (*inferencev1.ModerateResponse, error) {
	m, err := s.catalog.resolve(req.GetModel(), codes.InvalidArgument)
	if err != nil {
		return nil, err
	}
	out := &inferencev1.ModerateResponse{}
	if req.GetForm() == inferencev1.ModerationForm_MODERATION_FORM_GUARD {
		out.Results, err = s.guard(ctx, req, m)
	} else {
		out.Results, err = s.moderate(ctx, req, m)
	}
	return out, err
}

// moderate asks the provider's endpoint.
func (s *Service) moderate(ctx context.Context, req *inferencev1.ModerateRequest, m model) ([]*inferencev1.ModerationResult, error) {
	asked, ok := m.provider.Provider.(provider.Moderator)
	if !ok {
		return nil, fault.FailedPrecondition(faultv1.Reason_REASON_MODEL_REJECTED, "the provider %q has no moderation endpoint", m.provider.name).
			Hint("Use a provider of kind openai.")
	}
	key, callers, err := s.credentials(ctx, m, req.GetTurnId())
	if err != nil {
		return nil, err
	}
	found, err := asked.Moderate(ctx, m.name, req.GetTexts(), key)
	if ctx.Err() == nil && !callers {
		m.provider.reach.note(err)
	}
	s.meter.record(ctx, m, 0, nil, err)
	if err != nil {
		return nil, err //nolint:wrapcheck // a fault
	}
	out := make([]*inferencev1.ModerationResult, len(found))
	for i, f := range found {
		out[i] = &inferencev1.ModerationResult{Flagged: f.Flagged, Categories: truncate.Names(f.Categories, maxCategories, maxCategory)}
	}
	return out, nil
}

// guard asks a guard model about each text in a conversation of its own.
func (s *Service) guard(ctx context.Context, req *inferencev1.ModerateRequest, m model) ([]*inferencev1.ModerationResult, error) {
	out := make([]*inferencev1.ModerationResult, len(req.GetTexts()))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(guardsAtOnce)
	for i, text := range req.GetTexts() {
		group.Go(func() error {
			said := &whole{}
			cold := 0.0
			err := s.converse(ctx, m, &inferencev1.GenerateRequest{
				Model: req.GetModel(), TurnId: req.GetTurnId(), MaxOutputTokens: guardTokens, Temperature: &cold,
				Messages: []*turnv1.Message{{Role: turnv1.Role_ROLE_USER, Content: []*turnv1.ContentPart{
					{Part: &turnv1.ContentPart_Text{Text: text}},
				}}},
			}, said)
			if err != nil {
				return err
			}
			out[i], err = verdict(m.full(), said.finished.GetText())
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err //nolint:wrapcheck // a fault
	}
	return out, nil
}

// verdict reads what a guard model says.
func verdict(model, text string) (*inferencev1.ModerationResult, error) {
	first, rest, _ := strings.Cut(strings.TrimSpace(text), "\n")
	switch strings.ToLower(strings.TrimSpace(first)) {
	case "safe":
		return &inferencev1.ModerationResult{}, nil
	case "unsafe":
		names := strings.FieldsFunc(rest, func(r rune) bool { return r == ',' || r == '\n' })
		return &inferencev1.ModerationResult{Flagged: true, Categories: truncate.Names(names, maxCategories, maxCategory)}, nil
	}
	return nil, provider.Broken("%s answered neither safe nor unsafe", model).Hint("Use a guard model, for example of the family Llama Guard.")
}

// whole keeps the end of an answer.
type whole struct{ finished *inferencev1.Finished }

// Send implements sender.
func (w *whole) Send(m *inferencev1.GenerateResponse) error {
	if f := m.GetFinished(); f != nil {
		w.finished = f
	}
	return nil
}
