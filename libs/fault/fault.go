// Package fault is the error model of Windlass: domain code creates or wraps an *Error, servers convert it to a gRPC status in one place,
// clients convert it back, and the gateway renders it as an RFC 9457 problem.
package fault

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"google.golang.org/grpc/codes"

	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
)

// Domain is the ErrorInfo domain of every Windlass error.
const Domain = "windlass.dev"

// Field is one invalid field of a request.
type Field struct {
	// Path is the field's name as the caller wrote it: "agent.limits.max_steps", "arguments/expression".
	Path string
	// Message says what is wrong with it and what is allowed.
	Message string
}

// Error is a failure that the caller may see. Its cause is for the log only.
type Error struct {
	// Code says how to treat the failure in general.
	Code codes.Code
	// Reason says what happened, precise enough for a program.
	Reason faultv1.Reason
	// Message says what happened, for people, without secrets.
	Message string
	// Todo says what to do next, for people.
	Todo string
	// Fields lists the wrong fields of the request.
	Fields []Field
	// Details are facts about the failure for programs, by name.
	Details map[string]string
	// Retry says how long to wait before trying again, 0 when unknown.
	Retry time.Duration

	cause error
}

// New makes an error. The message is formatted as by fmt.Sprintf.
func New(code codes.Code, reason faultv1.Reason, format string, args ...any) *Error {
	return &Error{Code: code, Reason: reason, Message: fmt.Sprintf(format, args...)}
}

// Error returns message and cause; the cause is never sent to a caller.
func (e *Error) Error() string {
	if e.cause != nil {
		return e.Message + ": " + e.cause.Error()
	}
	return e.Message
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.cause }

// Hint sets what to do next and returns e.
func (e *Error) Hint(format string, args ...any) *Error {
	e.Todo = fmt.Sprintf(format, args...)
	return e
}

// RetryAfter sets how long to wait before trying again and returns e.
func (e *Error) RetryAfter(d time.Duration) *Error {
	e.Retry = d
	return e
}

// Cause keeps the error behind this one for the log and returns e.
func (e *Error) Cause(err error) *Error {
	e.cause = err
	return e
}

// NotFound says that something does not exist, or that the caller may not see it.
func NotFound(format string, args ...any) *Error {
	return New(codes.NotFound, faultv1.Reason_REASON_NOT_FOUND, format, args...)
}

// Invalid says that one field of the request is wrong.
func Invalid(field, format string, args ...any) *Error {
	return InvalidFields([]Field{{Path: field, Message: fmt.Sprintf(format, args...)}})
}

// InvalidFields says that several fields of the request are wrong.
func InvalidFields(fields []Field) *Error {
	texts := make([]string, len(fields))
	for i, f := range fields {
		texts[i] = f.Path + ": " + f.Message
	}
	e := New(codes.InvalidArgument, faultv1.Reason_REASON_INVALID_ARGUMENT, "%s", strings.Join(texts, "; "))
	e.Fields = fields
	return e.Hint("Correct the named fields and send the request again.")
}

// AlreadyExists says that the id or name is taken.
func AlreadyExists(format string, args ...any) *Error {
	return New(codes.AlreadyExists, faultv1.Reason_REASON_ALREADY_EXISTS, format, args...)
}

// Conflict says that the resource changed since the caller read it.
func Conflict(format string, args ...any) *Error {
	return New(codes.Aborted, faultv1.Reason_REASON_CONFLICT, format, args...).Hint("Read the resource again and retry.")
}

// FailedPrecondition says that the resource's state does not allow the call.
func FailedPrecondition(reason faultv1.Reason, format string, args ...any) *Error {
	return New(codes.FailedPrecondition, reason, format, args...)
}

// Unavailable says that a dependency is away for the moment.
func Unavailable(reason faultv1.Reason, format string, args ...any) *Error {
	return New(codes.Unavailable, reason, format, args...).Hint("Try again in a moment.")
}

// Denied says that the caller lacks a permission: because of a rule, or, where rule is empty, because no rule grants it.
func Denied(permission, rule string) *Error {
	e := New(codes.PermissionDenied, faultv1.Reason_REASON_PERMISSION_DENIED, "permission %q is missing: no rule grants it", permission).
		Hint("Ask an operator for a policy rule that grants it.")
	e.Details = map[string]string{"permission": permission}
	if rule != "" {
		e.Message = fmt.Sprintf("rule %q denies the permission %q", rule, permission)
		e.Details["rule"] = rule
		e.Todo = "Ask an operator to change the rule."
	}
	return e
}

// BadPageToken says that a page token cannot be used for this list.
func BadPageToken(cause error) *Error {
	e := New(codes.InvalidArgument, faultv1.Reason_REASON_INVALID_PAGE_TOKEN, "page_token is damaged or belongs to another list")
	e.Fields = []Field{{Path: "page_token", Message: "must be the next_page_token of the same list with the same filters"}}
	return e.Hint("Start again from the first page.").Cause(cause)
}

// Unimplemented says that there is no such method, or none for this caller.
func Unimplemented(method string) *Error {
	return New(codes.Unimplemented, faultv1.Reason_REASON_UNIMPLEMENTED, "there is no method %s here", method).
		Hint("Check the names of service and method; reflection lists what is served.")
}

// Internal says that we are at fault. The cause goes to the log, the caller sees a fixed text.
func Internal(cause error) *Error {
	return New(codes.Internal, faultv1.Reason_REASON_INTERNAL, "internal error").
		Hint("Try again; if it stays, report it with the trace id.").Cause(cause)
}

// As finds the *Error in err's chain, nil when there is none.
func As(err error) *Error {
	e, _ := errors.AsType[*Error](err)
	return e
}

// CodeName returns a reason's stable lower-case code: REASON_NOT_FOUND is "not_found".
func CodeName(r faultv1.Reason) string {
	return strings.ToLower(strings.TrimPrefix(r.String(), "REASON_"))
}
