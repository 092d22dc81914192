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

// Causes with which a step's context ends. Any other cause (the worker stops, the driver gave up) means: give the lease back, and let
// somebody else do the step.
var (
	// ErrCancelled means that somebody asked for the turn's end: keep what is there. Drivers of Do end its context with it.
	ErrCancelled = errors.New("turn cancelled")
	// ErrTurnEnded means that the turn is over, so that its missing steps will never be done.
	ErrTurnEnded = errors.New("turn has ended")
	// ErrElsewhere ends an Advance: another worker is at the turn.
	ErrElsewhere = errors.New("another worker does the turn")
	// ErrWaiting ends an Advance: nothing can be done before somebody answers.
	ErrWaiting = errors.New("the turn waits for somebody")
	// ErrStale means that the turn does not end yet: input was accepted that the decision did not know of. Read the outcomes and decide again.
	ErrStale = errors.New("input came before the turn's end")

	errDeadline  = errors.New("turn deadline passed")
	errLeaseLost = errors.New("lease lost")
)

// RetryError says that the same step may succeed later.
type RetryError struct {
	// Delay is how long to wait; 0 leaves it to the driver.
	Delay time.Duration
	// Err is what happened.
	Err error
}

// Error says what happened.
func (e *RetryError) Error() string { return e.Err.Error() }

// Unwrap gives what happened.
func (e *RetryError) Unwrap() error { return e.Err }

// finalError is an error that no repetition mends and that the journal shall tell.
type finalError struct{ err error }

func (e *finalError) Error() string { return e.err.Error() }
func (e *finalError) Unwrap() error { return e.err }

// Final marks an error as one that no repetition mends.
func Final(err error) error { return &finalError{err} }

// IsFinal tells whether an error of Do is one that no repetition mends.
func IsFinal(err error) bool {
	_, final := errors.AsType[*finalError](err)
	return final
}

// classify sorts an error of a call by what is to be done: nothing (ctx ended), adopt, retry, or give up.
func classify(ctx context.Context, err error) error {
	_, again := errors.AsType[*RetryError](err)
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return fmt.Errorf("%w: %w", context.Cause(ctx), err)
	case again, errors.Is(err, errLeaseLost), errors.Is(err, ErrTurnEnded), errors.Is(err, ErrElsewhere):
		return err
	}
	f := fault.From(err)
	switch {
	case f.Reason == faultv1.Reason_REASON_LEASE_LOST:
		return fmt.Errorf("%w: %w", errLeaseLost, err)
	case f.Reason == faultv1.Reason_REASON_TURN_ENDED:
		return fmt.Errorf("%w: %w", ErrTurnEnded, err)
	case retryable(f):
		return &RetryError{Delay: f.Retry, Err: err}
	default:
		return &finalError{err}
	}
}

// retryable adds to the general rule that a call which ended although nobody here ended it was broken off on the way.
func retryable(f *fault.Error) bool {
	return f.Code == codes.Canceled || f.Code == codes.Unknown || fault.Retryable(f)
}

// turnError is what people and the decision function are told. A deadline of a model or of a connection is not the turn's deadline:
// it must not look like one.
func turnError(err error) *turnv1.TurnError {
	f := fault.From(err)
	code := fault.CodeName(f.Reason)
	if code == engine.CodeDeadline || code == "cancelled" {
		code = fault.CodeName(faultv1.Reason_REASON_UNAVAILABLE)
	}
	return &turnv1.TurnError{Code: code, Message: f.Text()}
}

func outcomeTooLarge(step string) *fault.Error {
	return fault.New(codes.ResourceExhausted, faultv1.Reason_REASON_TOO_LARGE, "what step %s came to is too large to be kept", step).
		Hint("Have it answer with less, or store large content as an artifact.")
}

// deadlineError marks a step that the turn's deadline cut off.
func deadlineError() *turnv1.TurnError {
	return &turnv1.TurnError{Code: engine.CodeDeadline, Message: "The turn's time was up."}
}
