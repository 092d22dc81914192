package wire

import (
	"context"
	"errors"
	"io"
	"net"
	"sync/atomic"
	"time"
)

// Limits of what is read of a response after its answer.
const (
	maxRest     = 64 << 10
	restTimeout = 100 * time.Millisecond
)

// unfinished is a request whose response the library stops reading once it has the answer, by ending the request's context. That would
// close the connection whenever the end of the body is not known yet: after an event of a stream, and in a body without a length.
type unfinished struct {
	cancel   context.CancelFunc
	answered atomic.Bool // the response has begun
}

// begin returns the context for a request. It ends with the library's, or a moment later if the response has begun.
func begin(library context.Context) (context.Context, *unfinished) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(library))
	u := &unfinished{cancel: cancel}
	context.AfterFunc(library, func() {
		if u.answered.Load() {
			time.AfterFunc(restTimeout, cancel)
			return
		}
		cancel()
	})
	return ctx, u
}

// body returns the body of the response.
func (u *unfinished) body(body io.ReadCloser) io.ReadCloser {
	u.answered.Store(true)
	return &restBody{ReadCloser: body, done: u.cancel}
}

// restBody reads to its end when it is closed, so that the connection can be used again.
type restBody struct {
	io.ReadCloser
	done          func()
	ended, closed atomic.Bool
}

// Read implements io.Reader. A reader that still waits when the body is closed gets nothing of the rest.
func (b *restBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if errors.Is(err, io.EOF) {
		b.ended.Store(true)
	}
	if b.closed.Load() {
		return 0, net.ErrClosed
	}
	return n, err
}

// Close implements io.Closer.
func (b *restBody) Close() error {
	if b.closed.Swap(true) {
		return nil
	}
	if b.ended.Load() {
		defer b.done()
		return b.ReadCloser.Close()
	}
	go func() {
		defer b.done()
		_, _ = io.CopyN(io.Discard, b.ReadCloser, maxRest) // ends with the request's context
		_ = b.ReadCloser.Close()
	}()
	return nil
}
