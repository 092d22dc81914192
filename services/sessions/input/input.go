// Package input checks what callers send with a turn: text, content and the tools that the caller runs.
package input

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"

	"github.com/windlass-dev/windlass/libs/fault"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
)

// Checker checks input.
type Checker struct {
	// MaxBytes bounds one input.
	MaxBytes int
}

// Content checks the input of a request that takes either a text or content, and returns it as content.
func (c Checker) Content(text string, content []*turnv1.ContentPart) ([]*turnv1.ContentPart, error) {
	switch {
	case text != "" && len(content) > 0:
		return nil, fault.Invalid("input", "give either input or content, not both")
	case text == "" && len(content) == 0:
		return nil, fault.Invalid("input", "is empty: give input or content")
	case text != "":
		return c.Message("input", text)
	case !slices.ContainsFunc(content, says):
		return nil, fault.Invalid("content", "is nothing but space: say something")
	}
	size := 0
	for i, part := range content {
		if part.GetPart() == nil {
			return nil, fault.Invalid(fmt.Sprintf("content[%d]", i), "has neither text, blob, link nor file")
		}
		if !utf8.ValidString(part.GetText()) {
			return nil, fault.Invalid(fmt.Sprintf("content[%d].text", i), "is not valid UTF-8")
		}
		size += proto.Size(part)
	}
	if err := c.Size("content", size); err != nil {
		return nil, err
	}
	return uncited(content), nil
}

// uncited returns content without citations: only answers have them.
func uncited(content []*turnv1.ContentPart) []*turnv1.ContentPart {
	out := slices.Clone(content)
	for i, part := range out {
		if len(part.GetCitations()) > 0 {
			out[i] = &turnv1.ContentPart{Part: part.GetPart()}
		}
	}
	return out
}

// Message is Text for what a person says: it must say something, since models refuse an empty message.
func (c Checker) Message(field, text string) ([]*turnv1.ContentPart, error) {
	content, err := c.Text(field, text)
	if err == nil && blank(text) {
		err = fault.Invalid(field, "is nothing but space: say something")
	}
	return content, err
}

// Text checks a text and returns it as content.
func (c Checker) Text(field, text string) ([]*turnv1.ContentPart, error) {
	if err := c.Size(field, len(text)); err != nil {
		return nil, err
	}
	if !utf8.ValidString(text) {
		return nil, fault.Invalid(field, "is not valid UTF-8")
	}
	return []*turnv1.ContentPart{{Part: &turnv1.ContentPart_Text{Text: text}}}, nil
}

// Size returns an error if a field of so many bytes is larger than an input may be.
func (c Checker) Size(field string, bytes int) error {
	if bytes <= c.MaxBytes {
		return nil
	}
	e := fault.New(codes.InvalidArgument, faultv1.Reason_REASON_TOO_LARGE, "%s has %d bytes, more than the %d allowed", field, bytes,
		c.MaxBytes)
	e.Fields = []fault.Field{{Path: field, Message: fmt.Sprintf("at most %d bytes", c.MaxBytes)}}
	return e.Hint("Send less.")
}

func blank(text string) bool { return strings.TrimSpace(text) == "" }

// says reports whether a part is more than space. A part without content is rejected later.
func says(p *turnv1.ContentPart) bool {
	_, text := p.GetPart().(*turnv1.ContentPart_Text)
	return !text || !blank(p.GetText())
}
