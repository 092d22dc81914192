package app

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"google.golang.org/grpc/codes"

	"github.com/windlass-dev/windlass/libs/fault"
)

// UsageError says that a command was called wrongly.
type UsageError struct{ Problem string }

// Error says what is wrong.
func (e *UsageError) Error() string { return e.Problem }

// Usage makes a UsageError.
func Usage(format string, args ...any) error {
	return &UsageError{Problem: fmt.Sprintf(format, args...)}
}

// TurnError says that a turn ended otherwise than with an answer.
type TurnError struct{ Turn, Status, Problem string }

// Error says how it ended.
func (e *TurnError) Error() string {
	if e.Problem == "" {
		return fmt.Sprintf("turn %s is %s", e.Turn, e.Status)
	}
	return fmt.Sprintf("turn %s %s: %s", e.Turn, e.Status, e.Problem)
}

// SilentError gives an exit code for something that was told already.
type SilentError struct{ Code int }

// Error satisfies the interface; it is never shown.
func (e *SilentError) Error() string { return fmt.Sprintf("exit code %d", e.Code) }

// ExitCode chooses the exit code of an error.
func ExitCode(err error) int {
	var (
		usage  *UsageError
		turn   *TurnError
		silent *SilentError
	)
	switch {
	case err == nil:
		return ExitOK
	case errors.As(err, &usage):
		return ExitUsage
	case errors.As(err, &turn):
		return ExitTurnFailed
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

// Explain writes an error for people: what happened, the wrong fields, and what to do.
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
