package app

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"google.golang.org/grpc/codes"

	"github.com/windlass-dev/windlass/libs/fault"
)

// UsageError means that a command was called incorrectly.
type UsageError struct{ Problem string }

// Error returns the problem.
func (e *UsageError) Error() string { return e.Problem }

// Usage returns a UsageError.
func Usage(format string, args ...any) error {
	return &UsageError{Problem: fmt.Sprintf(format, args...)}
}

// TurnError means that a turn ended without an answer.
type TurnError struct{ Turn, Status, Problem string }

// Error says how the turn ended.
func (e *TurnError) Error() string {
	if e.Problem == "" {
		return fmt.Sprintf("turn %s is %s", e.Turn, e.Status)
	}
	return fmt.Sprintf("turn %s %s: %s", e.Turn, e.Status, e.Problem)
}

// WaitingError means that a turn goes on only when a person answers, and that nobody could be asked here.
type WaitingError struct{ Turn, Problem string }

// Error says what the turn waits for, and how to go on.
func (e *WaitingError) Error() string { return fmt.Sprintf("turn %s waits: %s", e.Turn, e.Problem) }

// SilentError sets an exit code without printing anything.
type SilentError struct{ Code int }

// Error satisfies the interface; it is never printed.
func (e *SilentError) Error() string { return fmt.Sprintf("exit code %d", e.Code) }

// ExitCode returns the exit code of an error.
func ExitCode(err error) int {
	var (
		usage  *UsageError
		turn   *TurnError
		waits  *WaitingError
		silent *SilentError
	)
	switch {
	case err == nil:
		return ExitOK
	case errors.As(err, &usage):
		return ExitUsage
	case errors.As(err, &turn):
		return ExitTurnFailed
	case errors.As(err, &waits):
		return ExitWaiting
	case errors.As(err, &silent):
		return silent.Code
	}
	if e := fault.As(err); e != nil {
		switch e.Code {
		case codes.NotFound:
			return ExitNotFound
		case codes.PermissionDenied, codes.Unauthenticated:
			return ExitDenied
		}
	}
	return ExitError
}

// Explain formats an error for people: what happened, the invalid fields, and what to do.
func Explain(err error) string {
	if errors.Is(err, context.Canceled) && fault.As(err) == nil {
		return "interrupted"
	}
	e := fault.As(err)
	if e == nil {
		return err.Error()
	}
	var b strings.Builder
	b.WriteString(err.Error())
	for _, f := range e.Fields {
		if !strings.Contains(e.Message, f.Message) {
			fmt.Fprintf(&b, "\n  %s: %s", f.Path, f.Message)
		}
	}
	if e.Todo != "" {
		fmt.Fprintf(&b, "\n  %s", e.Todo)
	}
	return b.String()
}
