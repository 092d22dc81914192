// Package parts fits the images, sounds and documents of a conversation to a model: it scales and converts what the model takes in another
// form, and replaces what it does not take by a text.
package parts

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/media"
	"github.com/windlass-dev/windlass/libs/mediatext"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/inference/provider"
)

// Fitter fits conversations. It is safe for concurrent use.
type Fitter struct{ media *media.Converter }

// New returns a fitter.
func New() (*Fitter, error) {
	converter, err := media.New()
	return &Fitter{converter}, err
}

// Target is the model that a conversation is for.
type Target struct {
	// Name is for errors.
	Name string
	// Sheet is what it takes.
	Sheet provider.Sheet
	// Strict refuses a conversation with a part of a user's input of the turn TurnID that the model does not take, instead of replacing it by
	// a text. Parts of earlier turns are replaced: their turns were refused or answered, and the session goes on.
	Strict bool
	TurnID string
}

// maxWarnings limits the warnings of one conversation.
const maxWarnings = 20

// Fit returns a conversation as a target takes it, and what was left out of it. It changes no message of the caller. A refusal is
// FAILED_PRECONDITION/MODEL_REJECTED.
func (f *Fitter) Fit(ctx context.Context, t Target, messages []*turnv1.Message) (fitted []*turnv1.Message, warnings []string, err error) {
	fit := &fitting{ctx: ctx, media: f.media, target: t}
	out := messages
	for n := len(messages) - 1; n >= 0; n-- { // the newest images are shown
		m, err := fit.message(messages[n])
		if err != nil {
			return nil, nil, err
		}
		if m != messages[n] {
			if &out[0] == &messages[0] {
				out = slices.Clone(messages)
			}
			out[n] = m
		}
	}
	return fit.behind(out), fit.warnings, nil
}

// fitting is one conversation being fitted.
type fitting struct {
	ctx      context.Context
	media    *media.Converter
	target   Target
	images   int
	warnings []string
}

// message returns a message with what the target takes of its parts; the same message if that is all.
func (f *fitting) message(m *turnv1.Message) (*turnv1.Message, error) {
	content, err := f.parts(m.GetContent(), f.target.Strict && m.GetRole() == turnv1.Role_ROLE_USER && m.GetTurnId() == f.target.TurnID)
	if err != nil {
		return nil, err
	}
	result, err := f.parts(m.GetToolResult().GetContent(), false)
	if err != nil {
		return nil, err
	}
	if content == nil && result == nil {
		return m, nil
	}
	out := shallow(m)
	if content != nil {
		out.Content = content
	}
	if result != nil {
		out.ToolResult = shallow(m.GetToolResult())
		out.ToolResult.Content = result
	}
	return out, nil
}

// parts returns fitted parts; nil if they are taken as they are.
func (f *fitting) parts(parts []*turnv1.ContentPart, strict bool) ([]*turnv1.ContentPart, error) {
	var out []*turnv1.ContentPart
	for i := len(parts) - 1; i >= 0; i-- {
		made, why, err := f.part(parts[i])
		if err != nil {
			return nil, err
		}
		if why != "" {
			if strict {
				return nil, fault.FailedPrecondition(faultv1.Reason_REASON_MODEL_REJECTED, "%s cannot be shown to %s: %s", name(parts[i]),
					f.target.Name, why).Hint("Use a model that takes it, or set degrade of the agent to text.")
			}
			made = note(parts[i], why)
			if len(f.warnings) < maxWarnings {
				f.warnings = append(f.warnings, fmt.Sprintf("%s is not shown to the model: %s", name(parts[i]), why))
			}
		}
		if made == parts[i] {
			continue
		}
		if out == nil {
			out = slices.Clone(parts)
		}
		out[i] = made
	}
	return out, nil
}

// part returns a part as the target takes it, or why it does not.
func (f *fitting) part(p *turnv1.ContentPart) (made *turnv1.ContentPart, why string, err error) {
	if p.GetFile() != nil {
		return nil, "models take no files of its type, or it is too large for the call", nil
	}
	b := p.GetBlob()
	if b == nil || mediatext.Is(b.GetMediaType()) {
		return p, "", nil
	}
	if usual, ok := usualTypes[b.GetMediaType()]; ok {
		b = &turnv1.Blob{MediaType: usual, Data: b.GetData(), Name: b.GetName()}
		p = blobPart(b)
	}
	sheet := f.target.Sheet
	switch {
	case provider.IsImage(b.GetMediaType()):
		return f.image(p, b)
	case b.GetMediaType() == provider.PDF:
		return f.document(p, b)
	case sheet.Audio.Has(b):
		return p, "", nil
	case slices.Contains(sheet.Audio.Types, b.GetMediaType()):
		return nil, fmt.Sprintf("it has more than %d bytes", sheet.Audio.MaxBytes), nil
	}
	return nil, "the model takes no " + b.GetMediaType(), nil
}

// usualTypes are the media types that APIs know, by other names of them.
var usualTypes = map[string]string{
	"image/jpg": "image/jpeg", "image/pjpeg": "image/jpeg", "image/x-png": "image/png",
	"audio/x-wav": "audio/wav", "audio/wave": "audio/wav", "audio/vnd.wave": "audio/wav", "audio/mp3": "audio/mpeg",
	"audio/x-mpeg": "audio/mpeg", "audio/x-flac": "audio/flac", "application/ogg": "audio/ogg", "application/x-pdf": provider.PDF,
}

// image scales and converts an image.
func (f *fitting) image(p *turnv1.ContentPart, b *turnv1.Blob) (*turnv1.ContentPart, string, error) {
	images := f.target.Sheet.Images
	switch {
	case len(images.Types) == 0:
		return nil, "the model takes no images", nil
	case images.MaxCount > 0 && f.images == images.MaxCount:
		return nil, fmt.Sprintf("the model takes %d images at most, the newest are shown", images.MaxCount), nil
	}
	form := media.Form{Types: images.Types, MaxEdge: images.MaxEdge, MaxBytes: images.MaxBytes}
	got, err := f.media.Image(f.ctx, b.GetData(), form)
	if refused, ok := errors.AsType[*media.Error](err); ok {
		return nil, "it " + refused.Error(), nil
	}
	if err != nil {
		return nil, "", err
	}
	f.images++
	if got.MediaType == b.GetMediaType() && len(got.Data) == len(b.GetData()) { // as it was
		return p, "", nil
	}
	return blobPart(&turnv1.Blob{MediaType: got.MediaType, Data: got.Data, Name: b.GetName()}), "", nil
}

// pdfStart begins a document, within its first bytes.
const pdfStart, pdfStartWithin = "%PDF-", 1024

// document passes a document on, or its text.
func (f *fitting) document(p *turnv1.ContentPart, b *turnv1.Blob) (*turnv1.ContentPart, string, error) {
	data := b.GetData()
	if !bytes.Contains(data[:min(len(data), pdfStartWithin)], []byte(pdfStart)) {
		return nil, "it is not a PDF document", nil
	}
	if f.target.Sheet.Documents.Has(b) {
		return p, "", nil
	}
	text, err := f.media.PDFText(f.ctx, data)
	if refused, ok := errors.AsType[*media.Error](err); ok {
		return nil, "the model takes no such document, and it " + refused.Error(), nil
	}
	return textPart(fmt.Sprintf("[%s, as text]\n%s", name(p), text)), "", err
}

// behind puts what the results of tools cannot hold into a message of the user behind them. Results of one message's calls stay together.
func (f *fitting) behind(messages []*turnv1.Message) []*turnv1.Message {
	var out []*turnv1.Message // nil while nothing was moved
	var moved []*turnv1.ContentPart
	flush := func() {
		if len(moved) > 0 {
			out, moved = append(out, &turnv1.Message{Role: turnv1.Role_ROLE_USER, Content: moved}), nil
		}
	}
	for n, m := range messages {
		if m.GetRole() != turnv1.Role_ROLE_TOOL {
			flush()
		}
		kept, extra := f.split(m.GetToolResult())
		if len(extra) > 0 {
			if out == nil {
				out = append([]*turnv1.Message{}, messages[:n]...)
			}
			moved = append(append(moved, textPart(fmt.Sprintf("[from the result of %s]", m.GetToolResult().GetTool()))), extra...)
			m = shallow(m)
			m.ToolResult = shallow(m.GetToolResult())
			m.ToolResult.Content = kept
		}
		if out != nil {
			out = append(out, m)
		}
	}
	flush()
	if out == nil {
		return messages
	}
	return out
}

// split separates what a result cannot hold. In its place the result has a text.
func (f *fitting) split(r *turnv1.ToolResult) (kept, extra []*turnv1.ContentPart) {
	for _, p := range r.GetContent() {
		b := p.GetBlob()
		images := f.target.Sheet.Images
		if b != nil && !mediatext.Is(b.GetMediaType()) && !(images.InResults && images.Has(b)) {
			extra = append(extra, p)
			p = textPart(fmt.Sprintf("[%s: see the next message]", name(p)))
		}
		kept = append(kept, p)
	}
	return kept, extra
}

// name describes a file.
func name(p *turnv1.ContentPart) string {
	b, f := p.GetBlob(), p.GetFile()
	named, media, size := b.GetName(), b.GetMediaType(), int64(len(b.GetData()))
	if f != nil {
		named, media, size = f.GetName(), f.GetMediaType(), f.GetSize()
	}
	if named == "" {
		return fmt.Sprintf("a file (%s, %d bytes)", media, size)
	}
	return fmt.Sprintf("%s (%s, %d bytes)", named, media, size)
}

// note is a text in the place of a part. A file has its own, which names the artifact that it is.
func note(p *turnv1.ContentPart, why string) *turnv1.ContentPart {
	if p.GetFile() != nil {
		return p
	}
	return textPart(fmt.Sprintf("[%s: cannot be shown here: %s]", name(p), why))
}

func textPart(text string) *turnv1.ContentPart {
	return &turnv1.ContentPart{Part: &turnv1.ContentPart_Text{Text: text}}
}

func blobPart(b *turnv1.Blob) *turnv1.ContentPart {
	return &turnv1.ContentPart{Part: &turnv1.ContentPart_Blob{Blob: b}}
}

// shallow returns a message with the same values: files are large.
func shallow[M protoreflect.ProtoMessage](m M) M {
	out := m.ProtoReflect().New()
	m.ProtoReflect().Range(func(fd protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		out.Set(fd, v)
		return true
	})
	made, _ := out.Interface().(M)
	return made
}
