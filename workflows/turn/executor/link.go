package executor

import (
	"context"

	executorv1 "github.com/windlass-dev/windlass/proto/gen/windlass/executor/v1"
)

// link is a connection to one running executor. It is used by one goroutine at a time, except for cut.
type link interface {
	// send sends an event after the invocation that the link was opened with.
	send(req *executorv1.RunRequest) error
	// recv returns the next event. io.EOF means that the executor ended in good order; other errors are faults.
	recv() (*executorv1.RunResponse, error)
	// finish lets the executor end by itself, within the grace time, and returns when it is over.
	finish()
	// cut ends the executor, and returns when it has ended. It may be called at any time, and more than once.
	cut()
}

// open starts an executor with an invocation. The link outlives ctx.
func (h *Host) open(ctx context.Context, s *spec, in *executorv1.Invocation) (link, error) {
	switch s.kind {
	case "process":
		return h.openProcess(s, in)
	case "http":
		return h.openHTTP(ctx, s, in)
	case "grpc":
		return h.openGRPC(ctx, s, in)
	default:
		return nil, failed("this worker knows no executors of kind %q", s.kind).Hint("Run the same version of all roles.")
	}
}

func first(in *executorv1.Invocation) *executorv1.RunRequest {
	return &executorv1.RunRequest{Request: &executorv1.RunRequest_Invocation{Invocation: in}}
}
