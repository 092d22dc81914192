package sse

import (
	"context"
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/windlass-dev/windlass/gateway/problem"
)

// errDrained is the cause of streams that end because of Drain.
var errDrained = errors.New("the gateway stops")

// pump receives events and has them written until the stream ends. It ends with held, which is when the caller's credentials do, and with
// Drain. The error says why a stream was cut off.
//
// It responds with a stream at once, except for a stream that resumes and may be over: that call may end without events, which is 204 and
// stops an EventSource from reconnecting. A call that was not admitted is over already.
func (s *Streams) pump(held context.Context, r *http.Request, src source, up *upstream, out *writer, refuse refusal) error {
	defer out.close()
	release := context.AfterFunc(held, func() { up.cancel(context.Cause(held)) })
	defer release()
	undrain := context.AfterFunc(s.drain, func() { up.cancel(errDrained) })
	defer undrain()
	switch {
	case up.admitted && src.resumed:
		defer time.AfterFunc(s.cfg.EndGrace, out.start).Stop()
	case up.admitted:
		out.start()
	}
	for {
		f, err := up.next()
		if err != nil {
			return s.finish(held, r, src, up, out, refuse, err)
		}
		out.add(f)
	}
}

// finish reports to the reader why the stream ends. Without the end frame an EventSource reconnects.
func (s *Streams) finish(held context.Context, r *http.Request, src source, up *upstream, out *writer, refuse refusal, cause error) error {
	over := errors.Is(cause, io.EOF)
	switch {
	case r.Context().Err() != nil:
		return context.Cause(r.Context())
	case errors.Is(context.Cause(up.ctx), errDrained):
		out.start()
		return out.last(nil)
	case held.Err() != nil:
		cause = context.Cause(held)
	case over && src.resumed && out.instead(func() { out.w.WriteHeader(http.StatusNoContent) }):
		return nil
	case over:
		out.start()
		return out.last(func() {
			if src.end != nil {
				out.end(src.end)
			}
		})
	}
	if out.instead(func() { refuse(out.w, r, cause) }) {
		return nil
	}
	return errors.Join(out.last(func() { out.problem(problem.Of(r, cause)) }), cause)
}
