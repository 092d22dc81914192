package wire

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/windlass-dev/windlass/services/mcpbridge/server"
)

// ErrSessionGone means that the server does not know the session of a connection.
var ErrSessionGone = errors.New("the server does not know the session any more")

// Fate is what can have happened to a request without an answer.
type Fate int

// The fates of requests.
const (
	Unsent      Fate = iota // it was not sent
	SessionLost             // the server says that it does not know the session; for a call only a ping finds out whether that is so
	UnknownFate             // it may have run
)

// Answer is a response: a result, or a JSON-RPC error.
type Answer struct {
	Result  json.RawMessage
	Failure *mcp.JSONRPCErrorDetails
}

// Error means a request without an answer.
type Error struct {
	Fate Fate
	// TooLarge means that the answer arrived, but was too large.
	TooLarge bool
	// Stale means that the connection is unusable, WrongEra that the server no longer speaks this form of the protocol.
	Stale, WrongEra bool
	// Answer is what came with the status of a lost session: the answer if the session is not lost.
	Answer *Answer
	// RetryAfter is requested by the server.
	RetryAfter time.Duration

	useless    bool // it is certain that the server answered
	status     int  // HTTP status, 0 without one
	redirected bool
	scopes     *[]string // the server wants these instead of those of the user's token
	text       string    // for people; empty = the cause's
	cause      error
}

// NotSent returns the error of a request that was not sent. text is for people; empty = the cause's.
func NotSent(cause error, text string) *Error { return &Error{Fate: Unsent, text: text, cause: cause} }

// Useless returns the error of a request whose answer is of no use.
func Useless(text string) *Error { return &Error{Fate: UnknownFate, useless: true, text: text} }

// WrongRevision returns the error for a server that does not speak the connection's protocol revision.
func WrongRevision() *Error { return staleness(facts{}, wrongRevision) }

// AsError returns the *Error in err; for other errors the fate is unknown.
func AsError(err error) *Error {
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	return &Error{Fate: UnknownFate, cause: err}
}

// Error describes the failure for people.
func (e *Error) Error() string {
	if e.text != "" {
		return e.text
	}
	return plain(e.cause)
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.cause }

// Lost reports whether the connection is of no use any more.
func (e *Error) Lost() bool { return e.Stale || e.Fate == SessionLost }

// Refused reports whether the request was not sent, or the server rejects requests of its kind.
func (e *Error) Refused() bool {
	return e.Fate != UnknownFate || e.Stale || e.status >= 400 && e.status < 500
}

// Hopeless reports whether another request over HTTP would fail in the same way.
func (e *Error) Hopeless() bool {
	return e.status == 0 && e.Fate == Unsent || e.status == http.StatusUnauthorized || e.status == http.StatusTooManyRequests || e.redirected
}

// Answered reports whether the server answered, and another request would get no better answer.
func (e *Error) Answered() bool {
	switch {
	case e.useless, e.redirected, e.TooLarge:
		return true
	case errors.Is(e.cause, context.DeadlineExceeded), errors.Is(e.cause, context.Canceled):
		return false
	}
	return e.status != 0 && e.status < 500 && e.status != http.StatusTooManyRequests && e.status != http.StatusRequestTimeout
}

// NotWritten reports whether a process did not take the request.
func (e *Error) NotWritten() bool { return notWritten(e) }

// refusedLogin reports whether the status rejects the caller.
func (e *Error) refusedLogin() bool {
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
func staleness(f facts, message string) *Error {
	e := &Error{Fate: UnknownFate, Stale: true, status: f.status, text: ErrSessionGone.Error()}
	if strings.Contains(strings.ToLower(message), wrongRevision) {
		e.WrongEra, e.text = true, "the server speaks another protocol revision than before"
	}
	return e
}

// plain returns an error's text without URLs, whose queries may hold credentials.
func plain(err error) string {
	if err == nil {
		return "unknown error"
	}
	if _, ok := errors.AsType[*Error](err); ok {
		return err.Error() // it has done so itself
	}
	if u, ok := errors.AsType[*url.Error](err); ok {
		err = u.Err
	}
	return err.Error()
}

// Describe returns an error's text without secrets.
func Describe(sp *server.Spec, err error) string { return sp.Redact(plain(err)) }
