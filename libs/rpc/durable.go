package rpc

import (
	"context"

	"github.com/windlass-dev/windlass/libs/fault"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
)

// track returns a context for a handler, and what to call before its caller gets an answer: the answer to a user is a promise, and a power
// failure must not take back what it confirms. Roles that call internal methods confirm nothing to a client by that; where they need it,
// the method flushes by itself.
func (s *Server) track(ctx context.Context, method string) (context.Context, func() error) {
	if s.cfg.Track == nil || s.internal[method] {
		return ctx, func() error { return nil }
	}
	tracked, flush := s.cfg.Track(ctx)
	return tracked, func() error {
		err := flush()
		if err == nil || fault.As(err) != nil {
			return err
		}
		return fault.Unavailable(faultv1.Reason_REASON_UNAVAILABLE, "it was done, but could not be written to disk").
			Hint("A power failure would undo it: an operator must check the disk, then send the request again.").Cause(err)
	}
}
