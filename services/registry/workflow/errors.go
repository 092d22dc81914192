package workflow

import (
	"context"
	"errors"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/windlass-dev/windlass/libs/egress"
	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/truncate"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	"github.com/windlass-dev/windlass/services/registry/source"
)

// text is what an error of the server says.
func (a *attempt) text(err error) string { return a.Hide(message(err)) }

func message(err error) string {
	said := err.Error()
	if answer, ok := errors.AsType[interface {
		error
		GRPCStatus() *status.Status
	}](err); ok {
		said = answer.GRPCStatus().Message()
	}
	return truncate.Bytes(strings.ToValidUTF8(said, "\uFFFD"), maxText)
}

// notReached is the error of a request that certainly did not reach the server, or was turned away by it for now.
func (a *attempt) notReached(err error) *source.Error {
	if f, ok := errors.AsType[*fault.Error](err); ok { // there are no credentials
		return source.Unsent(f)
	}
	return source.Unsent(unreached(a.Source.Name, a.text(err)))
}

func unreached(source, why string) *fault.Error {
	if strings.Contains(why, egress.ErrDenied.Error()) {
		return fault.New(codes.FailedPrecondition, faultv1.Reason_REASON_EGRESS_DENIED, "source %q: %s", source, why)
	}
	return fault.Unavailable(faultv1.Reason_REASON_TOOL_UNAVAILABLE, "source %q: Temporal cannot be reached: %s", source, why)
}

// unanswered is the error of a call whose workflow may run, or have run.
func (a *attempt) unanswered(ctx context.Context, id string, err error) *source.Error {
	name := a.Source.Name
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return source.Doubtful(fault.New(codes.DeadlineExceeded, faultv1.Reason_REASON_DEADLINE_EXCEEDED,
			"source %q: the workflow %q did not end in time", name, id))
	case ctx.Err() != nil:
		return source.Doubtful(fault.New(codes.Canceled, faultv1.Reason_REASON_CANCELLED, "the call was cancelled"))
	case tooLarge(err):
		return &source.Error{Outcome: source.TooLarge, Fault: fault.New(codes.ResourceExhausted, faultv1.Reason_REASON_TOO_LARGE,
			"source %q: the result of the workflow %q is too large", name, id)}
	default:
		return source.Doubtful(fault.New(codes.Aborted, faultv1.Reason_REASON_OUTCOME_UNKNOWN,
			"source %q: what became of the workflow %q is unknown: %s", name, id, a.text(err)))
	}
}
