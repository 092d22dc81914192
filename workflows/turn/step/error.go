package step

import (
	"context"
	"errors"
	"fmt"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/windlass-dev/windlass/libs/fault"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/workflows/turn/engine"
)

// Causes with which a step's context ends. Any other cause (the worker stops, the caller gave up) means: release the lease, any worker
// may do the step.
var (
	// ErrCancelled means that the turn is cancelled: keep what is there. Callers of the runner end its context with it.
	ErrCancelled = errors.New("turn cancelled")
	// ErrTurnEnded means that the turn is over, so that its missing steps will never run.
	ErrTurnEnded = errors.New("turn has ended")
	// ErrDeadline means that the turn's time is up.
	ErrDeadline = errors.New("turn deadline passed")
	// ErrLeaseLost means that another worker may run the step now.
	ErrLeaseLost = errors.New("lease lost")

	// ErrElsewhere means that another worker runs the turn.
	ErrElsewhere = errors.New("another worker does the turn")
	// ErrWaiting means that nothing can be done before a wait is answered.
	ErrWaiting = errors.New("the turn waits for an answer")
	// ErrStale means that the turn does not end yet: input was accepted after its end was decided. Read the outcomes and decide again.
	ErrStale = errors.New("input came before the turn's end")
)

// RetryError says that the same step may succeed later.
type RetryError struct {
	// Delay is how long to wait; 0 leaves it to the caller.
	Delay time.Duration
	// Err is what happened.
	Err error
}

// Error implements error.
func (e *RetryError) Error() string { return e.Err.Error() }

// Unwrap returns what happened.
func (e *RetryError) Unwrap() error { return e.Err }

// finalError is an error that no retry repairs and that the journal reports.
type finalError struct{ err error }

func (e *finalError) Error() string { return e.err.Error() }
func (e *finalError) Unwrap() error { return e.err }

// Final marks an error as one that no retry repairs.
func Final(err error) error { return &finalError{err} }

// IsFinal reports whether an error is marked by Final, or classified so by Classify.
func IsFinal(err error) bool {
	_, final := errors.AsType[*finalError](err)
	return final
}

// Classify classifies an error of a call by what is to be done: nothing (ctx ended), adopt, retry, or give up.
func Classify(ctx context.Context, err error) error {
	_, again := errors.AsType[*RetryError](err)
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return fmt.Errorf("%w: %w", context.Cause(ctx), err)
	case again, errors.Is(err, ErrLeaseLost), errors.Is(err, ErrTurnEnded), errors.Is(err, ErrElsewhere):
		return err
	}
	f := fault.From(err)
	switch {
	case f.Reason == faultv1.Reason_REASON_LEASE_LOST:
		return fmt.Errorf("%w: %w", ErrLeaseLost, err)
	case f.Reason == faultv1.Reason_REASON_TURN_ENDED:
		return fmt.Errorf("%w: %w", ErrTurnEnded, err)
	case retryable(f):
		return &RetryError{Delay: f.Retry, Err: err}
	default:
		return &finalError{err}
	}
}

// retryable adds to the general rule: a call that was cancelled, but not by this side, was broken off on the way.
func retryable(f *fault.Error) bool {
	return f.Code == codes.Canceled || f.Code == codes.Unknown || fault.Retryable(f)
}

// TurnError is what people and the decision function read of an error. A deadline of a model or of a connection is not the turn's deadline:
// it must not look like one.
func TurnError(err error) *turnv1.TurnError {
	f := fault.From(err)
	code := fault.CodeName(f.Reason)
	if code == engine.CodeDeadline || code == "cancelled" {
		code = fault.CodeName(faultv1.Reason_REASON_UNAVAILABLE)
	}
	return &turnv1.TurnError{Code: code, Message: f.Text()}
}

// DeadlineError is the error of a step that the turn's deadline cut off.
func DeadlineError() *turnv1.TurnError {
	return &turnv1.TurnError{Code: engine.CodeDeadline, Message: "The turn's time was up."}
}

// Cut reports whether ctx ended because the turn was cancelled or its time is up: then what was said so far is kept.
func Cut(ctx context.Context) bool {
	cause := context.Cause(ctx)
	return errors.Is(cause, ErrCancelled) || errors.Is(cause, ErrDeadline)
}
