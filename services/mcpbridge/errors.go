package mcpbridge

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"google.golang.org/grpc/codes"

	"github.com/windlass-dev/windlass/libs/fault"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
)

var (
	errSessionGone = errors.New("the server does not know the session any more")
	errRetired     = errors.New("the connection was replaced or released")
	errClosed      = errors.New("the bridge is stopping")
)

// fate is what can have happened to a request without an answer.
type fate int

const (
	notSent     fate = iota // it was not sent
	sessionLost             // the server says that it does not know the session; for a call see connection.ping
	unknownFate             // it may have run
)

// sendError means a request without an answer.
type sendError struct {
	fate       fate
	status     int           // HTTP status, 0 without one
	retryAfter time.Duration // requested by the server
	tooLarge   bool          // the answer arrived, but was too large
	redirected bool
	stale      bool      // the connection is unusable
	answer     *answer   // what came with the status of a lost session; the answer if the session is not lost
	scopes     *[]string // the server wants these instead of those of the user's token
	wrongEra   bool      // the server no longer speaks this form of the protocol
	text       string    // for people; empty = the cause's
	cause      error
}

// Error describes the failure for people.
func (e *sendError) Error() string {
	if e.text != "" {
		return e.text
	}
	return plain(e.cause)
}

// Unwrap returns the cause.
func (e *sendError) Unwrap() error { return e.cause }

// refused reports whether the request was not sent, or the server rejects requests of its kind.
func (e *sendError) refused() bool {
	return e.fate != unknownFate || e.stale || e.status >= 400 && e.status < 500
}

// asSendError returns the *sendError in err; for other errors the fate is unknown.
func asSendError(err error) *sendError {
	if e, ok := errors.AsType[*sendError](err); ok {
		return e
	}
	return &sendError{fate: unknownFate, cause: err}
}

// answer is a response: a result, or a JSON-RPC error.
type answer struct {
	result  json.RawMessage
	failure *mcp.JSONRPCErrorDetails
	asked   *formRequest // the call was aborted because of this question
	given   []said       // the answers to earlier questions
}

// refusedLogin reports whether the status rejects the caller.
func (e *sendError) refusedLogin() bool {
	return e.status == http.StatusUnauthorized || e.status == http.StatusForbidden || e.status == http.StatusTooManyRequests
}

// staleMessage reports whether a message is one of the ways in which servers of the old era say that they are not the ones that the
// handshake was with. It only decides about the connection, never about sending a call again.
func staleMessage(message string) bool {
	message = strings.ToLower(message)
	return strings.Contains(message, "session") || strings.Contains(message, "not initialized") || strings.Contains(message, wrongRevision)
}

const wrongRevision = "unsupported protocol version"

// staleness returns the error for such a message.
func staleness(f facts, message string) *sendError {
	e := &sendError{fate: unknownFate, stale: true, status: f.status, text: errSessionGone.Error()}
	if strings.Contains(strings.ToLower(message), wrongRevision) {
		e.wrongEra, e.text = true, "the server speaks another protocol revision than before"
	}
	return e
}

// plain returns an error's text without URLs, whose queries may hold credentials.
func plain(err error) string {
	if err == nil {
		return "unknown error"
	}
	if _, ok := errors.AsType[*sendError](err); ok {
		return err.Error() // it has done so itself
	}
	if u, ok := errors.AsType[*url.Error](err); ok {
		err = u.Err
	}
	return err.Error()
}

// unavailable returns the fault of a request that certainly did not run.
func unavailable(sp *spec, err error) *fault.Error {
	text := strings.ReplaceAll(plain(err), context.DeadlineExceeded.Error(), "it did not answer in time")
	f := fault.Unavailable(faultv1.Reason_REASON_TOOL_UNAVAILABLE, "tool server %q cannot be reached: %s", sp.name, sp.redact(text)).
		Hint("See that the server runs and that its entry is right; the call was not carried out and may be repeated.")
	if e, ok := errors.AsType[*sendError](err); ok && e.retryAfter > 0 {
		f = f.RetryAfter(e.retryAfter)
	}
	return sp.markRefused(f, err)
}

// notCalled is unavailable for a call. One whose time is up, or that of the handshake, has none for another attempt, which its code says.
func notCalled(sp *spec, err error) *fault.Error {
	f := unavailable(sp, err)
	if errors.Is(err, context.DeadlineExceeded) {
		f.Code = codes.DeadlineExceeded
	}
	return f
}

// outcomeUnknown returns the fault of a call with unknown outcome.
func outcomeUnknown(sp *spec, tool string, err error) *fault.Error {
	return fault.New(codes.Aborted, faultv1.Reason_REASON_OUTCOME_UNKNOWN,
		"tool server %q: %s; nobody knows whether %q was carried out", sp.name, sp.redact(asSendError(err).Error()), tool).
		Hint("Find out at the server before the call is repeated, unless repeating it does no harm.")
}
