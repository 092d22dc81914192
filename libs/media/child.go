package media

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/windlass-dev/windlass/libs/process"
)

const (
	// childEnv makes a program the child that decodes one file.
	childEnv = "WINDLASS_MEDIA_CHILD"
	// maxMemory limits the memory of a child, and softMemory is from where on it collects garbage rather than to use more.
	maxMemory, softMemory = 768 << 20, 512 << 20
	// maxCPU limits its processor time, and maxTime all of its time.
	maxCPU, maxTime = 20 * time.Second, 60 * time.Second
	// maxAnswer limits its answer.
	maxAnswer = 96 << 20
)

// request is what a child does with the file that follows: it is one line of JSON.
type request struct {
	// Form is of an image; nil for other requests.
	Form *Form `json:"form,omitempty"`
	// PDF asks for the text of a document.
	PDF bool `json:"pdf,omitempty"`
}

// answer is what came of it, one line of JSON.
type answer struct {
	// Refused is why the file cannot be converted; "" for none.
	Refused string `json:"refused,omitempty"`
	// exhausted: the child did not refuse it but was ended.
	exhausted bool

	MediaType string `json:"media_type,omitempty"`
	Data      []byte `json:"data,omitempty"`
	Width     int    `json:"width,omitempty"`
	Height    int    `json:"height,omitempty"`
	Text      string `json:"text,omitempty"`
}

func (a answer) size() int { return len(a.Refused) + len(a.Data) + len(a.Text) }

func (a answer) err() error {
	if a.Refused != "" {
		return &Error{text: a.Refused, Exhausted: a.exhausted}
	}
	return nil
}

// isParent reports whether Main was called, so that this program can be the child too.
var isParent atomic.Bool

// Main is the first call of programs that use a Converter: in a child it does what the child is for, and does not return.
func Main() {
	if os.Getenv(childEnv) == "" {
		isParent.Store(true)
		return
	}
	if err := serve(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// executable returns this program: on Linux also if its file was replaced since it was started.
func executable() (string, error) {
	if runtime.GOOS == "linux" {
		return "/proc/self/exe", nil
	}
	return os.Executable()
}

// ask starts a child for a request, and waits for its answer. A child that exceeds its limits refuses the file.
func ask(ctx context.Context, r request, data []byte) (answer, error) {
	if !isParent.Load() {
		return answer{}, errors.New("media: the program has not called media.Main")
	}
	self, err := executable()
	if err != nil {
		return answer{}, fmt.Errorf("media: %w", err)
	}
	within, cancel := context.WithTimeout(ctx, maxTime)
	defer cancel()
	p, err := process.Start(process.Config{
		Path: self, Env: []string{childEnv + "=1", fmt.Sprintf("GOMEMLIMIT=%d", softMemory), "GOTRACEBACK=none"},
		Line: func(string) {}, MaxLine: maxAnswer, WriteTimeout: maxTime,
		Limits: process.Limits{Memory: maxMemory, CPU: maxCPU, Files: 16},
	})
	if err != nil {
		return answer{}, fmt.Errorf("media: start the decoder: %w", err)
	}
	defer p.Close()
	stop := context.AfterFunc(within, p.Close)
	defer stop()
	got, err := exchange(p, r, data)
	switch {
	case err == nil:
		return got, nil
	case ctx.Err() != nil:
		return answer{}, ctx.Err()
	}
	return answer{
		Refused: fmt.Sprintf("cannot be decoded with %d MiB of memory within %s", maxMemory>>20, maxCPU), exhausted: true,
	}, nil
}

// exchange sends a request, and reads its answer.
func exchange(p *process.Process, r request, data []byte) (answer, error) {
	line, err := json.Marshal(r)
	if err != nil {
		return answer{}, err
	}
	if _, err := p.Writer().Write(append(line, '\n')); err != nil {
		return answer{}, err
	}
	if _, err := p.Writer().Write(data); err != nil {
		return answer{}, err
	}
	if err := p.Writer().Close(); err != nil {
		return answer{}, err
	}
	raw, err := io.ReadAll(io.LimitReader(p.Reader(), maxAnswer+1))
	if err != nil {
		return answer{}, err
	}
	var got answer
	return got, json.Unmarshal(raw, &got)
}
