package grpccall

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/windlass-dev/windlass/libs/canon"
	"github.com/windlass-dev/windlass/libs/egress"
	"github.com/windlass-dev/windlass/libs/fault"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/registry/httpcall"
	"github.com/windlass-dev/windlass/services/registry/source"
)

// maxMessages is the number of messages of a stream that are kept.
const maxMessages = 100

// Call is one call of a method.
type Call struct {
	// Source is the name of its source, for messages. Server is where it is.
	Source string
	Server Server
	// Codec and Args define the request.
	Codec *Codec
	Args  canon.Object
	// Repeatable is false if the method must not run twice: a status that says neither yes nor no is in doubt then. Reads means that it
	// changes nothing, so that a stream may be ended early.
	Repeatable, Reads bool
	// Key identifies the call, and KeyName is the name of the metadata that takes it; empty = it is not sent.
	Key, KeyName string
	// Authorize adds credentials as headers; nil = none. An error means that the call is not sent.
	Authorize func(*http.Request) error
	// Refused is called with what Authorize was called with if the server answers UNAUTHENTICATED; nil = not.
	Refused func(*http.Request)
	// Hide removes secrets from a text.
	Hide func(string) string
	// MaxBytes limits the response.
	MaxBytes int
}

// Caller sends calls; *egress.Egress is one.
type Caller interface {
	CallGRPC(ctx context.Context, c egress.GRPCCall) (egress.GRPCAnswer, error)
}

// Send sends the request once, and returns the answer of the method, including one that says no. The context bounds it. Errors are of
// *source.Error.
func Send(ctx context.Context, d Caller, c Call) (*turnv1.ToolResult, error) {
	message, err := c.Codec.Encode(c.Args)
	if err != nil {
		return nil, &source.Error{
			Outcome: source.NotSent, Fault: fault.New(codes.InvalidArgument, faultv1.Reason_REASON_INVALID_TOOL_ARGUMENTS, "%s", err),
		}
	}
	md, authorized, err := Metadata(ctx, c.Authorize)
	if err != nil {
		return nil, source.Unsent(err)
	}
	if c.Key != "" && c.KeyName != "" {
		md.Set(c.KeyName, printable(c.Key))
	}
	out := egress.GRPCCall{
		Address: c.Server.Address, Secure: c.Server.Secure, Method: c.Codec.Path, Metadata: md, Message: message, MaxBytes: c.MaxBytes,
		MaxMessages: 1,
	}
	if c.Codec.Stream {
		out.MaxMessages, out.Enough = maxMessages, c.Reads
	}
	answer, err := d.CallGRPC(ctx, out)
	if err != nil && !c.enough(ctx, answer) {
		return nil, c.unanswered(ctx, err)
	}
	if nameless(answer.Status) && !c.enough(ctx, answer) {
		return nil, c.unanswered(ctx, errors.New("it was ended without a status"))
	}
	if s := answer.Status; s != nil && s.Code() != codes.OK && !c.enough(ctx, answer) {
		if s.Code() == codes.Unauthenticated && c.Refused != nil {
			c.Refused(authorized)
		}
		return c.ended(s)
	}
	return c.result(answer), nil
}

// nameless reports whether a status is the one that the client library makes of trailers that have none: those of a proxy that does not
// pass them on, or of a server that is not one of gRPC. It cannot be told from an UNKNOWN of a method that says nothing about it, which may
// be repeated as well.
func nameless(s *status.Status) bool {
	return s.Code() == codes.Unknown && s.Message() == "" && len(s.Proto().GetDetails()) == 0
}

// Metadata returns what is sent with a call: the headers that authorize adds to a request, which is returned too.
func Metadata(ctx context.Context, authorize func(*http.Request) error) (metadata.MD, *http.Request, error) {
	r := (&http.Request{Header: http.Header{}}).WithContext(ctx)
	if authorize != nil {
		if err := authorize(r); err != nil {
			return nil, nil, err
		}
	}
	md := metadata.MD{}
	for name, values := range r.Header {
		md.Set(strings.ToLower(name), values...)
	}
	return md, r, nil
}

// printable replaces what metadata cannot hold.
func printable(key string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' {
			return '_'
		}
		return r
	}, key)
}

// enough reports whether a stream whose time is up has an answer: one that only reads, of which there are messages. The server knows the
// deadline too, and may be the first to say that it has passed.
func (c Call) enough(ctx context.Context, a egress.GRPCAnswer) bool {
	return c.Codec.Stream && c.Reads && len(a.Messages) > 0 && (late(ctx) || a.Status.Code() == codes.DeadlineExceeded)
}

// late reports whether the deadline has passed. The context may not say so yet when the server already does.
func late(ctx context.Context) bool {
	deadline, ok := ctx.Deadline()
	return ok && !time.Now().Before(deadline) || errors.Is(ctx.Err(), context.DeadlineExceeded)
}

// result is the answer of a method that succeeded.
func (c Call) result(a egress.GRPCAnswer) *turnv1.ToolResult {
	if !c.Codec.Stream {
		if len(a.Messages) != 1 || a.Cut {
			return c.unreadable(errors.New("the server did not send exactly one message"))
		}
		text, err := c.Codec.Decode(a.Messages[0])
		if err != nil {
			return c.unreadable(err)
		}
		return c.said(text)
	}
	all := struct {
		Messages []json.RawMessage `json:"messages"`
		Complete bool              `json:"complete"`
	}{[]json.RawMessage{}, a.Status != nil && a.Status.Code() == codes.OK && !a.Cut}
	for _, m := range a.Messages {
		text, err := c.Codec.Decode(m)
		if err != nil {
			return c.unreadable(err)
		}
		all.Messages = append(all.Messages, text)
	}
	text, err := json.Marshal(all)
	if err != nil {
		return c.unreadable(err)
	}
	return c.said(text)
}

func (c Call) said(text []byte) *turnv1.ToolResult {
	shown := c.Hide(string(text))
	return &turnv1.ToolResult{Content: content(shown), StructuredContent: httpcall.Structured([]byte(shown))}
}

// unreadable is the result of a method that ran, with a response that does not fit its descriptor.
func (c Call) unreadable(err error) *turnv1.ToolResult {
	return &turnv1.ToolResult{IsError: true, Content: content(c.Hide(fmt.Sprintf(
		"The method was carried out, but its response cannot be read: %s. Do not repeat it for that; the source may have to be synced.", err)))}
}

func content(text string) []*turnv1.ContentPart {
	return []*turnv1.ContentPart{{Part: &turnv1.ContentPart_Text{Text: text}}}
}

// ended returns what a status says about the call: that the method said no, or nothing.
func (c Call) ended(s *status.Status) (*turnv1.ToolResult, error) {
	if !c.undecided(s.Code()) {
		return &turnv1.ToolResult{IsError: true, Content: content(c.Hide("The method answered " + c.Codec.types.describe(s)))}, nil
	}
	f := unknown("source %q answered %s", c.Source, c.Hide(c.Codec.types.describe(s)))
	if wait := retryDelay(s); wait > 0 {
		f = f.RetryAfter(wait)
	}
	return nil, source.Doubtful(f)
}

// undecided reports whether a status of the server leaves open what became of the call. Proxies send CANCELLED, DEADLINE_EXCEEDED and
// UNAVAILABLE too, and may have passed the call on. UNKNOWN, INTERNAL and DATA_LOSS are errors of a method that may have acted before it
// failed. All others are decisions of the method.
func (c Call) undecided(code codes.Code) bool {
	switch code {
	case codes.Canceled, codes.DeadlineExceeded, codes.Unavailable:
		return true
	case codes.ResourceExhausted:
		return c.Repeatable
	case codes.InvalidArgument, codes.NotFound, codes.AlreadyExists, codes.PermissionDenied, codes.Unauthenticated,
		codes.FailedPrecondition, codes.Aborted, codes.OutOfRange, codes.Unimplemented:
		return false
	}
	return !c.Repeatable
}

// unanswered classifies an error of the exchange.
func (c Call) unanswered(ctx context.Context, err error) *source.Error {
	said := c.Hide(shorten(err.Error()))
	_, tooLarge := errors.AsType[*egress.TooLargeError](err)
	switch {
	case errors.Is(err, egress.ErrDenied):
		return source.Unsent(fault.New(codes.FailedPrecondition, faultv1.Reason_REASON_EGRESS_DENIED,
			"source %q: %s", c.Source, said))
	case egress.NotSent(err):
		return source.Unsent(fault.Unavailable(faultv1.Reason_REASON_TOOL_UNAVAILABLE,
			"source %q cannot be reached: %s", c.Source, said))
	case tooLarge:
		return &source.Error{Outcome: source.TooLarge, Fault: fault.New(codes.ResourceExhausted, faultv1.Reason_REASON_TOO_LARGE,
			"source %q: %s", c.Source, said)}
	case late(ctx):
		return source.Doubtful(fault.New(codes.DeadlineExceeded, faultv1.Reason_REASON_DEADLINE_EXCEEDED,
			"source %q did not answer in time", c.Source))
	case ctx.Err() != nil:
		return source.Doubtful(fault.New(codes.Canceled, faultv1.Reason_REASON_CANCELLED,
			"the call was cancelled"))
	default:
		return source.Doubtful(unknown("source %q: the call broke off: %s", c.Source, said))
	}
}

func unknown(format string, args ...any) *fault.Error {
	return fault.New(codes.Aborted, faultv1.Reason_REASON_OUTCOME_UNKNOWN, format, args...)
}
