package sse

import (
	"context"
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/windlass-dev/windlass/gateway/problem"
)

// queue is the number of events buffered for a reader before gRPC's flow control blocks the sender.
const queue = 32

// inbox receives a stream. When events is closed, err is the cause; io.EOF is the regular end.
type inbox struct {
	events chan frame
	first  *frame // already received
	err    error
}

func receive(ctx context.Context, next func() (frame, error)) *inbox {
	in := &inbox{events: make(chan frame, queue)}
	go func() {
		defer close(in.events)
		for {
			m, err := next()
			if err != nil {
				in.err = err
				return
			}
			select {
			case in.events <- m:
			case <-ctx.Done():
				in.err = ctx.Err()
				return
			}
		}
	}()
	return in
}

// pump writes events as they arrive: all waiting events are written, then flushed once. The stream ends with held, which is when the
// caller's credentials do. The error says why a stream was cut off.
func (s *Streams) pump(held context.Context, r *http.Request, out *writer, in *inbox, end []byte) error {
	heartbeat := time.NewTicker(s.cfg.Heartbeat)
	defer heartbeat.Stop()
	if in.first != nil {
		out.frame(*in.first)
		in.first = nil
		if done, err := s.drainQueue(r, out, in, end); done || err != nil {
			return err
		}
	}
	for {
		select {
		case m, ok := <-in.events:
			if !ok {
				return s.finish(r, out, in.err, end)
			}
			out.frame(m)
			if done, err := s.drainQueue(r, out, in, end); done || err != nil {
				return err
			}
			heartbeat.Reset(s.cfg.Heartbeat)
		case <-heartbeat.C:
			out.heartbeat()
			if err := out.flush(); err != nil {
				return err
			}
		case <-r.Context().Done():
			return context.Cause(r.Context())
		case <-held.Done():
			cause := context.Cause(held)
			if r.Context().Err() != nil {
				return cause
			}
			out.problem(problem.Of(r, cause))
			return errors.Join(out.flush(), cause)
		case <-s.drain:
			return out.flush() // nothing to flush, but it extends the deadline for the end of the response
		}
	}
}

// drainQueue writes the waiting events and flushes them. It reports whether the stream is over.
func (s *Streams) drainQueue(r *http.Request, out *writer, in *inbox, end []byte) (bool, error) {
	for range queue {
		select {
		case m, ok := <-in.events:
			if !ok {
				return true, s.finish(r, out, in.err, end)
			}
			out.frame(m)
			continue
		default:
		}
		break
	}
	return false, out.flush()
}

// finish tells the reader why the stream ends. Without the end frame an EventSource reconnects.
func (s *Streams) finish(r *http.Request, out *writer, cause error, end []byte) error {
	switch {
	case r.Context().Err() != nil:
		return context.Cause(r.Context())
	case errors.Is(cause, io.EOF):
		if end != nil {
			out.end(end)
		}
		return out.flush()
	default:
		out.problem(problem.Of(r, cause))
		return errors.Join(out.flush(), cause)
	}
}
