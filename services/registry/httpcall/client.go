package httpcall

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/windlass-dev/windlass/libs/canon"
	"github.com/windlass-dev/windlass/libs/challenge"
	"github.com/windlass-dev/windlass/libs/egress"
	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/truncate"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/registry/source"
)

// Call is one call of an operation.
type Call struct {
	// Source is the name of its source, for messages.
	Source string
	// Maker and Args define the request.
	Maker Maker
	Args  canon.Object
	// Repeatable is false if the operation must not run twice: a response that says neither yes nor no is in doubt then.
	Repeatable bool
	// Key identifies the call, if the operation takes keys.
	Key string
	// Authorize adds credentials to the request; nil = none. An error means that the call is not sent.
	Authorize func(*http.Request) error
	// Refused is called with the request if the API answers 401, and whether it certainly did nothing else; nil = not.
	Refused func(sent *http.Request, certain bool)
	// Insufficient is called with the scopes that the API wants, if it refuses the call for those of the token (RFC 6750); nil = not.
	Insufficient func(wanted []string)
	// Hide removes secrets from a text.
	Hide func(string) string
	// MaxBytes limits the response's body.
	MaxBytes int64
}

// Dialer returns HTTP clients; *egress.Egress is one.
type Dialer interface {
	Client(opts egress.Options) *http.Client
}

// Send sends the request once, whatever its method, and returns the answer of the API, including one that says no.
// The context bounds it. Errors are of *source.Error.
func Send(ctx context.Context, d Dialer, c Call) (*turnv1.ToolResult, error) {
	r, err := c.Maker.Request(ctx, c.Args)
	if err != nil {
		return nil, source.Unsent(fault.New(codes.InvalidArgument, faultv1.Reason_REASON_INVALID_TOOL_ARGUMENTS, "%s", err))
	}
	if name := c.Maker.keyHeader(); c.Key != "" && name != "" {
		r.Header.Set(name, escapeExcept(c.Key, ":/@!$&'()*+,;="))
	}
	if c.Authorize != nil {
		if err := c.Authorize(r); err != nil {
			return nil, source.Unsent(err)
		}
	}
	response, err := d.Client(egress.Options{MaxResponseBytes: c.MaxBytes, Once: true}).Do(r)
	if redirect, ok := errors.AsType[*egress.RedirectError](err); ok {
		return c.redirected(redirect)
	}
	if err != nil {
		return nil, c.unanswered(ctx, err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, c.unanswered(ctx, err)
	}
	if response.StatusCode == http.StatusUnauthorized && c.Refused != nil {
		c.Refused(r, challenge.Unauthenticated(response))
	}
	if wanted, ok := challenge.Insufficient(response); ok && c.Insufficient != nil {
		c.Insufficient(wanted)
	}
	a := newAnswer(response.StatusCode, response.Header, body)
	if c.undecided(a.status) {
		return nil, c.inDoubt(response, a)
	}
	result, mistaken := c.Maker.read(a, c.Hide)
	if mistaken != "" {
		return nil, c.notAnswered(a, mistaken)
	}
	return result, nil
}

// undecided reports whether a response of this status leaves open what became of the call. A status below 500 is the API's answer, except
// 408, which may come from something between. One from 500 on may come from a proxy, or from an API that acted before it failed. Calls
// that may be repeated are repeated after those statuses that are said to pass (RFC 9110, sections 15.5.9 and 15.6; RFC 6585, section 4).
func (c Call) undecided(status int) bool {
	switch status {
	case http.StatusRequestTimeout, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout,
		http.StatusNetworkAuthenticationRequired: // of a network that wants a login, never of the API
		return true
	case http.StatusTooManyRequests, http.StatusTooEarly:
		return c.Repeatable
	case http.StatusNotImplemented:
		return false
	}
	return status >= 500 && !c.Repeatable
}

func (c Call) inDoubt(response *http.Response, a answer) *source.Error {
	f := unknown("source %q answered %s%s", c.Source, statusText(a.status), c.excerpt(a))
	if seconds, err := strconv.Atoi(response.Header.Get("Retry-After")); err == nil && seconds > 0 && seconds < 86400 {
		f = f.RetryAfter(time.Duration(seconds) * time.Second)
	}
	return source.Doubtful(f)
}

// notAnswered is the error of a response that is not the answer of the API, whatever its status says: something on the way may have sent
// it, before the API was asked or after.
func (c Call) notAnswered(a answer, mistaken string) *source.Error {
	return source.Doubtful(unknown("source %q answered %s with %s%s", c.Source, statusText(a.status), mistaken, c.excerpt(a)))
}

// excerpt is the beginning of an answer, for an error's text; empty if there is none that can be read.
func (c Call) excerpt(a answer) string {
	if a.empty() || a.unreadable != "" || isBinary(a.media) {
		return ""
	}
	return ": " + truncate.Bytes(strings.TrimSpace(c.Hide(string(a.body))), 500)
}

// redirected is the answer of an API that points elsewhere. It may have acted on the request first, as after a form was posted.
func (c Call) redirected(e *egress.RedirectError) (*turnv1.ToolResult, error) {
	f := unknown("source %q redirects to %s, and redirects are not followed: set base_url to the final address", c.Source, c.Hide(e.To))
	if !c.Repeatable {
		return nil, source.Doubtful(f)
	}
	return &turnv1.ToolResult{IsError: true, Content: []*turnv1.ContentPart{text(f.Message)}}, nil
}

// unanswered classifies an error of the exchange.
func (c Call) unanswered(ctx context.Context, err error) *source.Error {
	if u, ok := errors.AsType[*url.Error](err); ok {
		err = u.Err // without the URL, whose query may hold credentials
	}
	_, tooLarge := errors.AsType[*egress.TooLargeError](err)
	said := c.Hide(err.Error())
	switch {
	case errors.Is(err, egress.ErrDenied):
		return source.Unsent(fault.New(codes.FailedPrecondition, faultv1.Reason_REASON_EGRESS_DENIED, "source %q: %s",
			c.Source, said))
	case egress.NotSent(err):
		return source.Unsent(fault.Unavailable(faultv1.Reason_REASON_TOOL_UNAVAILABLE, "source %q cannot be reached: %s",
			c.Source, said))
	case tooLarge:
		return &source.Error{Outcome: source.TooLarge, Fault: fault.New(codes.ResourceExhausted, faultv1.Reason_REASON_TOO_LARGE,
			"source %q: %s", c.Source, said)}
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return source.Doubtful(fault.New(codes.DeadlineExceeded, faultv1.Reason_REASON_DEADLINE_EXCEEDED,
			"source %q did not answer in time", c.Source))
	case ctx.Err() != nil:
		return source.Doubtful(fault.New(codes.Canceled, faultv1.Reason_REASON_CANCELLED, "the call was cancelled"))
	default:
		return source.Doubtful(unknown("source %q: the response broke off: %s", c.Source, said))
	}
}

func unknown(format string, args ...any) *fault.Error {
	return fault.New(codes.Aborted, faultv1.Reason_REASON_OUTCOME_UNKNOWN, format, args...)
}
