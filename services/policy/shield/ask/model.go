package ask

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"google.golang.org/grpc"

	"github.com/windlass-dev/windlass/libs/fault"
	inferencev1 "github.com/windlass-dev/windlass/proto/gen/windlass/inference/v1"
	"github.com/windlass-dev/windlass/services/policy/shield"
)

// Models is what is asked of the inference service.
type Models interface {
	Moderate(context.Context, *inferencev1.ModerateRequest, ...grpc.CallOption) (*inferencev1.ModerateResponse, error)
}

const (
	// maxTexts bounds the texts of one request to inference.
	maxTexts = 256
	// flagged is the category of a text to which a model objects without saying why.
	flagged = "flagged"
)

// model asks one through inference.
type model struct {
	models     Models
	name       string
	form       inferencev1.ModerationForm
	action     string
	categories []string // that matter, in lower case; empty = all
}

// newModel makes models that are asked in a form.
func newModel(form inferencev1.ModerationForm) func(shield.Config, Deps) (answerer, error) {
	return func(cfg shield.Config, deps Deps) (answerer, error) {
		if deps.Models == nil {
			return nil, fmt.Errorf("shield %q needs Models", cfg.Name)
		}
		m := &model{models: deps.Models, name: cfg.Model, form: form, action: cfg.Action}
		for _, name := range cfg.Categories {
			m.categories = append(m.categories, strings.ToLower(name))
		}
		return m, nil
	}
}

// answer implements answerer. The arguments and the result of a call are one text: a part of them alone means little.
func (m *model) answer(ctx context.Context, q Question) ([]Answer, error) {
	texts := q.Texts
	if m.joins(q.Stage) {
		texts = []string{strings.Join(texts, "\n")}
	}
	out := make([]Answer, 0, len(q.Texts))
	for part := range slices.Chunk(texts, maxTexts) {
		said, err := m.models.Moderate(ctx, &inferencev1.ModerateRequest{Model: m.name, Form: m.form, Texts: part, TurnId: q.TurnID})
		if err != nil {
			f := fault.From(err)
			if fault.Retryable(f) {
				return nil, transient("the model %q cannot be asked: %s", m.name, f.Message)
			}
			return nil, unusable("the model %q cannot be asked: %s", m.name, f.Message)
		}
		if len(said.GetResults()) != len(part) {
			return nil, unusable("%d answers about %d texts", len(said.GetResults()), len(part))
		}
		for _, r := range said.GetResults() {
			out = append(out, m.judge(r))
		}
	}
	for m.joins(q.Stage) && len(out) < len(q.Texts) {
		out = append(out, out[0]) // each part of the whole, so that none passes without the others
	}
	return out, nil
}

// joins implements answerer.
func (*model) joins(stage string) bool { return stage == shield.Tool || stage == shield.Result }

// judge makes an answer of a model's result. A text that is flagged without a category is taken to have one that matters.
func (m *model) judge(r *inferencev1.ModerationResult) Answer {
	found := r.GetCategories()
	if len(m.categories) > 0 {
		found = slices.DeleteFunc(slices.Clone(found), func(name string) bool { return !slices.Contains(m.categories, strings.ToLower(name)) })
	}
	switch {
	case len(found) > 0 && (r.GetFlagged() || len(m.categories) > 0):
		return Answer{Action: m.action, Categories: found}
	case r.GetFlagged() && len(r.GetCategories()) == 0:
		return Answer{Action: m.action, Categories: []string{flagged}}
	}
	return Answer{Action: Allow}
}
