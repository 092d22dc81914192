package provider

import (
	"cmp"
	"fmt"
	"hash/maphash"
	"net/http"
	"regexp"
	"slices"

	"github.com/windlass-dev/windlass/libs/fault"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/inference/provider/transcript"
)

// Prepare returns a request whose conversation is valid under rules, without images that the provider refused.
func (l *Lessons) Prepare(req Request, m *Manner, rules transcript.Rules) Request {
	req.Messages = transcript.Valid(req.Messages, rules)
	m.images = nil
	for i, message := range req.Messages {
		content, changed := l.images(req.Model, m, message.GetContent())
		result, changedResult := l.images(req.Model, m, message.GetToolResult().GetContent())
		if !changed && !changedResult {
			continue
		}
		made := &turnv1.Message{
			Role: message.GetRole(), Content: content, Reasoning: message.GetReasoning(), ToolCalls: message.GetToolCalls(),
			Model: message.GetModel(), Verbatim: message.GetVerbatim(),
		}
		if r := message.GetToolResult(); r != nil {
			made.ToolResult = &turnv1.ToolResult{
				CallId: r.GetCallId(), Tool: r.GetTool(), Content: result, StructuredContent: r.GetStructuredContent(), IsError: r.GetIsError(),
				Truncated: r.GetTruncated(), ArtifactIds: r.GetArtifactIds(),
			}
		}
		req.Messages[i] = made
	}
	return req
}

// imageKey is an image that a model was shown.
type imageKey struct {
	model string
	sum   uint64
}

var imageSeed = maphash.MakeSeed()

// images replaces refused images with a note, and names the types of the others as their bytes say.
func (l *Lessons) images(model string, m *Manner, content []*turnv1.ContentPart) (out []*turnv1.ContentPart, changed bool) {
	out = content
	for i, p := range content {
		b := p.GetBlob()
		if !IsImage(b.GetMediaType()) {
			continue
		}
		key := imageKey{model, maphash.Bytes(imageSeed, b.GetData())}
		accepted, known := l.seen.Get(key)
		is := http.DetectContentType(b.GetData())
		var made *turnv1.ContentPart
		switch {
		case known && !accepted:
			made = &turnv1.ContentPart{Part: &turnv1.ContentPart_Text{
				Text: fmt.Sprintf("[%s, %d bytes: the model's provider refused this image]", b.GetMediaType(), len(b.GetData())),
			}}
		case IsImage(is) && is != b.GetMediaType():
			made = &turnv1.ContentPart{Part: &turnv1.ContentPart_Blob{Blob: &turnv1.Blob{MediaType: is, Data: b.GetData()}}}
		}
		if !known || accepted {
			m.images = append(m.images, key)
		}
		if made == nil {
			continue
		}
		if !changed {
			out, changed = slices.Clone(content), true
		}
		out[i] = made
	}
	return out, changed
}

// hidden returns warnings about the images that Prepare replaces. One in the input of the turn is an error if the request refuses content.
func (l *Lessons) hidden(req Request) (warnings []string, err error) {
	for _, message := range req.Messages {
		own := message.GetRole() == turnv1.Role_ROLE_USER && message.GetTurnId() == req.TurnID
		for _, p := range slices.Concat(message.GetContent(), message.GetToolResult().GetContent()) {
			b := p.GetBlob()
			if !IsImage(b.GetMediaType()) {
				continue
			}
			if accepted, known := l.seen.Get(imageKey{req.Model, maphash.Bytes(imageSeed, b.GetData())}); accepted || !known {
				continue
			}
			name := cmp.Or(b.GetName(), "an image")
			if own && req.RefuseContent {
				return nil, fault.FailedPrecondition(faultv1.Reason_REASON_MODEL_REJECTED, "%s (%s) cannot be shown to %s: its provider refused it",
					name, b.GetMediaType(), req.Model).Hint("Use a model that takes it, or set degrade of the agent to text.")
			}
			if len(warnings) < maxWarnings {
				warnings = append(warnings, fmt.Sprintf("%s (%s, %d bytes) is not shown to the model: its provider refused it", name, b.GetMediaType(),
					len(b.GetData())))
			}
		}
	}
	return warnings, nil
}

// aboutImages are words for an image, or a model that takes none.
var aboutImages = regexp.MustCompile(`\bimages?\b|image_url|media[_ ]type|multimodal|\bvision\b`)

// hide avoids images after a refusal: those that the provider has not accepted before, else all. It reports whether there are any.
func (l *Lessons) hide(m *Manner) bool {
	suspects := slices.DeleteFunc(slices.Clone(m.images), func(key imageKey) bool { accepted, _ := l.seen.Get(key); return accepted })
	if len(suspects) == 0 {
		suspects = m.images
	}
	for _, key := range suspects {
		l.seen.Add(key, false)
	}
	return len(suspects) > 0
}

// showed remembers that images were accepted.
func (l *Lessons) showed(m *Manner) {
	for _, key := range m.images {
		l.seen.Add(key, true)
	}
}
