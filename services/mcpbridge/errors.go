package mcpbridge

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"
	"google.golang.org/grpc/codes"

	"github.com/windlass-dev/windlass/libs/egress"
	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/process"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
)

var (
	errSessionGone = errors.New("the server does not know the session any more")
	errRetired     = errors.New("the connection was replaced or released")
	errClosed      = errors.New("the bridge is stopping")
)

// fate says what can have become of a request without an answer.
type fate int

const (
	notSent     fate = iota // it did not leave, or the server refused it unread
	sessionLost             // the server refused it as it does not know the session
	unknownFate             // it may have been carried out
)

// sendError is a request without an answer.
type sendError struct {
	fate       fate
	status     int           // HTTP status, 0 without one
	retryAfter time.Duration // what the server asked for
	tooLarge   bool          // the answer came, and was too large
	redirected bool
	wrongEra   bool   // the server does not speak this form of the protocol any more
	text       string // for people; empty = the cause's
	cause      error
}

// Error says what happened, for people.
func (e *sendError) Error() string {
	if e.text != "" {
		return e.text
	}
	return plain(e.cause)
}

// Unwrap gives the cause.
func (e *sendError) Unwrap() error { return e.cause }

// asSendError finds the *sendError in err; anything else is of unknown fate.
func asSendError(err error) *sendError {
	if e, ok := errors.AsType[*sendError](err); ok {
		return e
	}
	return &sendError{fate: unknownFate, cause: err}
}

// answer is what came back: a result, or what JSON-RPC calls an error.
type answer struct {
	result  json.RawMessage
	failure *mcp.JSONRPCErrorDetails
	asked   *formRequest // the call was broken off because of this question
	given   []said       // the answers to those before it
}

// judge sorts what came back for a request, or why nothing did.
func (c *connection) judge(ctx context.Context, f facts, hadSession bool, id int64, res *transport.JSONRPCResponse, err error) (*answer, error) {
	if err != nil {
		return nil, c.judgeError(ctx, f, err, hadSession)
	}
	if res == nil {
		return nil, &sendError{fate: unknownFate, text: "the server sent an empty answer"}
	}
	switch {
	case f.status == http.StatusUnauthorized, f.status == http.StatusForbidden, f.status == http.StatusTooManyRequests:
		return nil, refusal(f)
	case f.status >= 400 && (hadSession || c.modern()) && res.Error != nil && staleMessage(res.Error.Message):
		return nil, staleness(f, res.Error.Message)
	case f.status >= 400 && (res.Error == nil || res.Error.Code == 0):
		return nil, c.judgeError(ctx, f, fmt.Errorf("status %d", f.status), hadSession)
	case f.status >= 500 && res.ID.IsNil():
		return nil, c.judgeError(ctx, f, fmt.Errorf("status %d: %s", f.status, res.Error.Message), hadSession)
	case res.Error == nil && res.ID.Value() != any(id):
		return nil, &sendError{fate: unknownFate, text: "the server answered another request than the one that was sent"}
	case res.Error != nil && res.Error.Code == process.TooLargeCode:
		return nil, &sendError{fate: unknownFate, tooLarge: true, text: "the answer is " + res.Error.Message}
	}
	return &answer{result: res.Result, failure: res.Error}, nil
}

func (c *connection) judgeError(ctx context.Context, f facts, err error, hadSession bool) *sendError {
	e := &sendError{fate: unknownFate, status: f.status, retryAfter: f.retryAfter, cause: err}
	switch {
	case f.tooLarge || errors.Is(err, egress.ErrTooLarge):
		e.tooLarge, e.text = true, fmt.Sprintf("the answer is larger than %d bytes", maxWireBytes)
	case errors.Is(err, egress.ErrRedirect):
		e.fate, e.redirected = notSent, true
	case errors.Is(err, transport.ErrSessionTerminated) && (!f.sent || f.status == http.StatusNotFound):
		e.fate, e.text = sessionLost, errSessionGone.Error()
	case !f.sent || notWritten(err):
		e.fate = notSent
	case ctx.Err() != nil:
		e.text = "no answer came in time"
		if errors.Is(ctx.Err(), context.Canceled) {
			e.text = "the call was cancelled"
		}
	case f.status == http.StatusBadRequest && (hadSession || c.modern()) && staleMessage(err.Error()):
		return staleness(f, err.Error())
	case f.status >= 400 && f.status < 500 && f.status != http.StatusRequestTimeout:
		return refusal(f)
	case f.status >= 500:
		e.text = fmt.Sprintf("the server answered with status %d", f.status)
	case f.status != 0 && !strings.Contains(f.contentType, "json") && !strings.Contains(f.contentType, "event-stream"):
		e.text = fmt.Sprintf("the server answered with %q instead of MCP (status %d)", f.contentType, f.status)
	}
	return e
}

// refusal is a status that says that the request was not looked at.
func refusal(f facts) *sendError {
	e := &sendError{fate: notSent, status: f.status, retryAfter: f.retryAfter}
	switch f.status {
	case http.StatusUnauthorized:
		e.text = "the server wants authentication (status 401): check the headers of its entry"
	case http.StatusForbidden:
		e.text = "the server forbids access (status 403): check the headers of its entry"
	case http.StatusTooManyRequests:
		e.text = "the server gets too many requests (status 429)"
	case http.StatusNotFound:
		e.text = "there is nothing at the server's address (status 404): check its url"
	case http.StatusMethodNotAllowed:
		e.text = "the server takes no such request at its address (status 405): check its url, and set transport to sse if it is of that kind"
	default:
		e.text = fmt.Sprintf("the server refused the request (status %d)", f.status)
	}
	return e
}

// staleMessage finds the several ways in which servers say, besides status 404, that they are not those we once shook hands with.
func staleMessage(message string) bool {
	message = strings.ToLower(message)
	return strings.Contains(message, "session") || strings.Contains(message, "not initialized") || strings.Contains(message, wrongRevision)
}

const wrongRevision = "unsupported protocol version"

// staleness is what staleMessage found.
func staleness(f facts, message string) *sendError {
	e := &sendError{fate: sessionLost, status: f.status, text: errSessionGone.Error()}
	if strings.Contains(strings.ToLower(message), wrongRevision) {
		e.wrongEra, e.text = true, "the server speaks another protocol revision than before"
	}
	return e
}

// plain is an error's text without addresses, whose queries may hold credentials.
func plain(err error) string {
	if err == nil {
		return "unknown error"
	}
	if _, ok := errors.AsType[*sendError](err); ok {
		return err.Error() // it has done so for what it holds
	}
	if u, ok := errors.AsType[*url.Error](err); ok {
		err = u.Err
	}
	return err.Error()
}

// describe is an error's text without secrets.
func (c *connection) describe(err error) string { return c.spec.redact(plain(err)) }

// unavailable says that a request surely was not carried out.
func unavailable(sp *spec, err error) *fault.Error {
	text := strings.ReplaceAll(plain(err), context.DeadlineExceeded.Error(), "it did not answer in time")
	f := fault.Unavailable(faultv1.Reason_REASON_TOOL_UNAVAILABLE, "tool server %q cannot be reached: %s", sp.name, sp.redact(text)).
		Hint("See that the server runs and that its entry is right; the call was not carried out and may be repeated.")
	if e, ok := errors.AsType[*sendError](err); ok && e.retryAfter > 0 {
		f = f.RetryAfter(e.retryAfter)
	}
	return f
}

// outcomeUnknown says that nobody knows whether a call was carried out.
func outcomeUnknown(sp *spec, tool string, err error) *fault.Error {
	return fault.New(codes.Aborted, faultv1.Reason_REASON_OUTCOME_UNKNOWN,
		"tool server %q: %s; nobody knows whether %q was carried out", sp.name, sp.redact(asSendError(err).Error()), tool).
		Hint("Find out at the server before the call is repeated, unless repeating it does no harm.")
}
