package child

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/windlass-dev/windlass/libs/process"
)

// envelope is the first line of an answer. Its body and a line end follow.
type envelope struct {
	// Refused is why the file is refused; "" for none.
	Refused string          `json:"refused,omitempty"`
	Head    json.RawMessage `json:"head,omitempty"`
	Size    int             `json:"size"` // of the body in bytes
}

// exchange sends a request and its file, and reads the answer.
func exchange(p *process.Process, limit int, request any, data []byte) (envelope, []byte, error) {
	line, err := json.Marshal(request)
	if err != nil {
		return envelope{}, nil, err
	}
	if _, err := p.Writer().Write(append(line, '\n')); err != nil {
		return envelope{}, nil, err
	}
	if _, err := p.Writer().Write(data); err != nil {
		return envelope{}, nil, err
	}
	if err := p.Writer().Close(); err != nil {
		return envelope{}, nil, err
	}
	in := bufio.NewReader(io.LimitReader(p.Reader(), int64(limit)))
	first, err := in.ReadBytes('\n')
	if err != nil {
		return envelope{}, nil, err
	}
	var got envelope
	if err := json.Unmarshal(first, &got); err != nil {
		return envelope{}, nil, err
	}
	if got.Size < 0 || got.Size > limit {
		return envelope{}, nil, errors.New("the size of the answer is out of bounds")
	}
	body := make([]byte, got.Size)
	_, err = io.ReadFull(in, body)
	return got, body, err
}

// serve answers one request in a child.
func serve(w Work, in io.Reader, out io.Writer) error {
	from := bufio.NewReader(in)
	line, err := from.ReadBytes('\n')
	if err != nil {
		return fmt.Errorf("read the request: %w", err)
	}
	data, err := io.ReadAll(from)
	if err != nil {
		return fmt.Errorf("read the file: %w", err)
	}
	got, err := do(w, line, data)
	refused, isRefusal := errors.AsType[*Error](err)
	if err != nil && !isRefusal {
		return err
	}
	head := envelope{Size: len(got.Body)}
	if isRefusal {
		head = envelope{Refused: refused.Text}
		got.Body = nil
	} else if head.Head, err = json.Marshal(got.Head); err != nil {
		return fmt.Errorf("encode the answer: %w", err)
	}
	to := bufio.NewWriter(out)
	if err := json.NewEncoder(to).Encode(head); err != nil {
		return err
	}
	if _, err := to.Write(got.Body); err != nil {
		return err
	}
	if err := to.WriteByte('\n'); err != nil { // the reader takes whole lines
		return err
	}
	return to.Flush()
}

// do does a request. Work that panics has met a damaged file.
func do(w Work, request json.RawMessage, data []byte) (got Answer, err error) {
	defer func() {
		if p := recover(); p != nil {
			got, err = Answer{}, Refuse("is damaged")
		}
	}()
	return w.Do(request, data)
}
