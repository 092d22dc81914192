package sse

import (
	"context"
	"errors"
	"io"
	"net/http"
	"time"

	"google.golang.org/grpc"

	"github.com/windlass-dev/windlass/gateway/problem"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
)

// queue is the number of events buffered for a reader before gRPC's flow control blocks the sender.
const queue = 32

// inbox receives a stream. When events is closed, err is the cause; io.EOF is the regular end.
type inbox struct {
	events chan *sessionsv1.WatchTurnResponse
	first  *sessionsv1.WatchTurnResponse // already received
	err    error
}

func receive(ctx context.Context, stream grpc.ServerStreamingClient[sessionsv1.WatchTurnResponse]) *inbox {
	in := &inbox{events: make(chan *sessionsv1.WatchTurnResponse, queue)}
	go func() {
		defer close(in.events)
		for {
			m, err := stream.Recv()
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

// pump writes events as they arrive: all waiting events are written, then flushed once. The error says why a stream was cut off.
func (s *Streams) pump(r *http.Request, out *writer, in *inbox, req *sessionsv1.WatchTurnRequest) error {
	heartbeat := time.NewTicker(s.cfg.Heartbeat)
	defer heartbeat.Stop()
	if in.first != nil {
		if err := out.event(in.first); err != nil {
			return err
		}
		in.first = nil
		if done, err := s.drainQueue(r, out, in, req); done || err != nil {
			return err
		}
	}
	for {
		select {
		case m, ok := <-in.events:
			if !ok {
				return s.finish(r, out, in.err, req)
			}
			if err := out.event(m); err != nil {
				return err
			}
			if done, err := s.drainQueue(r, out, in, req); done || err != nil {
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
		case <-s.drain:
			return out.flush() // nothing to flush, but it extends the deadline for the end of the response
		}
	}
}

// drainQueue writes the waiting events and flushes them. It reports whether the stream is over.
func (s *Streams) drainQueue(r *http.Request, out *writer, in *inbox, req *sessionsv1.WatchTurnRequest) (bool, error) {
	for range queue {
		select {
		case m, ok := <-in.events:
			if !ok {
				return true, s.finish(r, out, in.err, req)
			}
			if err := out.event(m); err != nil {
				return true, err
			}
			continue
		default:
		}
		break
	}
	return false, out.flush()
}

// finish tells the reader why the stream ends. Without the end frame an EventSource reconnects.
func (s *Streams) finish(r *http.Request, out *writer, cause error, req *sessionsv1.WatchTurnRequest) error {
	switch {
	case r.Context().Err() != nil:
		return context.Cause(r.Context())
	case errors.Is(cause, io.EOF):
		if req.GetTurnId() != "" {
			out.end(req.GetTurnId())
		}
		return out.flush()
	default:
		out.problem(problem.Of(r, cause))
		return errors.Join(out.flush(), cause)
	}
}
