package infer

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"google.golang.org/protobuf/proto"

	"github.com/windlass-dev/windlass/libs/media"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/workflows/turn/step/shield"
)

// document is a PDF document of a user in the place of which its text is checked.
type document struct {
	message, part int
	whole         *turnv1.ContentPart
	text          string
}

// checkable returns messages in which the PDF documents of users are their texts, if shields check what users say: models that take no
// documents read these. One without text is as it is, as images are; one that could not be decoded is named only.
func (i *infer) checkable(ctx context.Context, messages []*turnv1.Message) ([]*turnv1.Message, []document, error) {
	if applies, err := i.Shields.AppliesTo(ctx, i.Loaded.GetAgent(), shield.StageInput); err != nil || !applies {
		return messages, nil, err
	}
	var found []document
	out := messages
	for n, m := range messages {
		if m.GetRole() != turnv1.Role_ROLE_USER || !slices.ContainsFunc(m.GetContent(), isPDF) {
			continue
		}
		m = proto.CloneOf(m)
		for k, p := range m.GetContent() {
			if !isPDF(p) {
				continue
			}
			text, err := i.Media.PDFText(ctx, p.GetBlob().GetData())
			refused, ok := errors.AsType[*media.Error](err)
			switch {
			case ok && refused.Exhausted:
				m.Content[k] = textPart(fmt.Sprintf("[%s cannot be shown here: it %s]", p.GetBlob().GetName(), refused.Error()))
			case ok:
			case err != nil:
				return nil, nil, fmt.Errorf("text of a document: %w", err)
			default:
				found = append(found, document{n, k, p, text})
				m.Content[k] = textPart(text)
			}
		}
		if &out[0] == &messages[0] {
			out = slices.Clone(messages)
		}
		out[n] = m
	}
	return out, found, nil
}

// restore puts the documents back whose texts the shields left as they are.
func restore(messages []*turnv1.Message, found []document) {
	for _, d := range found {
		if content := messages[d.message].GetContent(); content[d.part].GetText() == d.text {
			content[d.part] = d.whole
		}
	}
}

func isPDF(p *turnv1.ContentPart) bool {
	return p.GetBlob().GetMediaType() == "application/pdf" || p.GetBlob().GetMediaType() == "application/x-pdf"
}

func textPart(text string) *turnv1.ContentPart {
	return &turnv1.ContentPart{Part: &turnv1.ContentPart_Text{Text: text}}
}
