package outbound

import (
	"bytes"
	"io"

	"github.com/windlass-dev/windlass/libs/egress"
)

// Body limits a body as a whole, or each event of a stream.
type Body struct {
	io.ReadCloser
	// Limit is in bytes; Events means that it holds for each event.
	Limit  int
	Events bool
	// TooLarge is called when the limit is passed, Done when the body is closed.
	TooLarge, Done func()

	read  int  // bytes of the body or of the current event
	blank bool // the last line end was followed by nothing but another
}

// Read implements io.Reader. Over the limit it returns an *egress.TooLargeError.
func (b *Body) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.count(p[:n])
	if b.read > b.Limit {
		b.TooLarge()
		return 0, &egress.TooLargeError{Limit: int64(b.Limit)}
	}
	return n, err
}

// count adds to read; in a stream an empty line starts a new event.
func (b *Body) count(p []byte) {
	if !b.Events {
		b.read += len(p)
		return
	}
	for {
		i := bytes.IndexByte(p, '\n')
		if i < 0 {
			b.read += len(p)
			b.blank = b.blank && (len(p) == 0 || len(p) == 1 && p[0] == '\r')
			return
		}
		if b.blank && (i == 0 || i == 1 && p[0] == '\r') {
			b.read = 0
		}
		b.read += i + 1
		b.blank = true
		p = p[i+1:]
	}
}

// Close implements io.Closer.
func (b *Body) Close() error {
	err := b.ReadCloser.Close()
	b.Done()
	return err
}
