package media

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/windlass-dev/windlass/libs/child"
)

// Work is what the children of a program that uses a Converter do: child.Main has it.
func Work() child.Work {
	return child.Work{
		Name: "media", Do: serve, Memory: 768 << 20, SoftMemory: 512 << 20, CPU: 20 * time.Second, Time: 60 * time.Second, MaxAnswer: 96 << 20,
	}
}

// request is what a child does with a file.
type request struct {
	// Form is of an image; nil for other requests.
	Form *Form `json:"form,omitempty"`
	// PDF asks for the text of a document.
	PDF bool `json:"pdf,omitempty"`
}

// answer is what came of it.
type answer struct {
	// refused is why the file cannot be converted; nil for none.
	refused *Error

	MediaType string `json:"media_type,omitempty"`
	Width     int    `json:"width,omitempty"`
	Height    int    `json:"height,omitempty"`
	// Data is the image or the text.
	Data []byte `json:"-"`
}

func (a answer) size() int {
	if a.refused != nil {
		return len(a.refused.text)
	}
	return len(a.Data)
}

func (a answer) err() error {
	if a.refused != nil {
		return a.refused
	}
	return nil
}

// askChild has a child answer a request. The caller has acquired it.
func askChild(r *child.Runner) func(context.Context, request, []byte) (answer, error) {
	return func(ctx context.Context, asked request, data []byte) (got answer, err error) {
		got.Data, err = r.Do(ctx, asked, data, &got)
		if refused, ok := errors.AsType[*child.Error](err); ok {
			return answer{refused: &Error{text: refused.Text, Exhausted: refused.Exhausted}}, nil
		}
		return got, err
	}
}

// serve answers a request in a child.
func serve(line json.RawMessage, data []byte) (child.Answer, error) {
	var r request
	if err := json.Unmarshal(line, &r); err != nil {
		return child.Answer{}, err
	}
	got, err := convert(r, data)
	if refused, ok := errors.AsType[*Error](err); ok {
		return child.Answer{}, child.Refuse("%s", refused.text)
	}
	return child.Answer{Head: got, Body: got.Data}, err
}

func convert(r request, data []byte) (answer, error) {
	switch {
	case r.Form != nil:
		return convertImage(data, *r.Form)
	case r.PDF:
		return pdfText(data)
	}
	return answer{}, errors.New("the request is for nothing")
}
