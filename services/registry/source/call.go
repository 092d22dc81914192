package source

import (
	"errors"
	"strings"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/windlass-dev/windlass/libs/canon"
	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/providerdata"
	"github.com/windlass-dev/windlass/libs/usertoken"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	policyv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policy/v1"
	registryv1 "github.com/windlass-dev/windlass/proto/gen/windlass/registry/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/registry/store"
)

// Request is one call.
type Request struct {
	// Source and Tool (its own name) identify what to call, Definition is the hash of the tool's definition.
	Source     store.Source
	Tool       string
	Definition string
	// Effect is the tool's effect class.
	Effect store.Effect
	// Arguments fit the tool's schema.
	Arguments canon.Object
	// By is on whose behalf the call is made.
	By Caller
	// Meta is sent as the call's _meta.
	Meta map[string]string
	// Until is when the time of all its attempts is up; zero = an attempt has the whole time of its source.
	Until time.Time
	// CanAsk lets the tool ask the user.
	CanAsk bool
	// Accepts are the methods of an MCP server's requests that the caller answers itself.
	Accepts []string
	// LogLevel is the lowest level of log messages that the caller wants; empty = none.
	LogLevel string
	// ProviderData is what came with the request that the call is part of.
	ProviderData providerdata.Sealed
	// Token is the sealed token of the caller of a direct call; nil = none.
	Token []byte
	// Answer is the user's answer to a question of an earlier attempt; nil = none was asked.
	Answer *registryv1.InputAnswer

	// As is whose login the call is made with, and Given is the provider data that the source takes, by place. Both are set on the way to the
	// driver.
	As    User
	Given providerdata.Data
}

// Key identifies the call across its attempts.
func (r *Request) Key() string { return r.Meta["windlass/idempotency_key"] }

// Caller is on whose behalf a tool runs.
type Caller struct {
	// Principal must be permitted to see what the tool returns.
	Principal *policyv1.Principal
	// SessionID is the session of the turn, "" for a direct call.
	SessionID string
	// TurnID is the turn, "" for a direct call. Banks are the banks of its agent: the mesh's tools read no others in it.
	TurnID string
	Banks  []string
}

// User is whose login a request is made with; the zero value is no user's.
type User struct {
	// Subject is the user, and Token the token of the login.
	Subject string
	Token   usertoken.Token
}

// Reply is a tool's answer; Result or Input is set.
type Reply struct {
	// Result is its result, including errors of the tool.
	Result *turnv1.ToolResult
	// Input is what it asks the user before it continues: this attempt is over.
	Input *registryv1.InputRequired
	// TokenRefused means that the source refused the user's token with this answer, and may have done something. The next call uses another.
	TokenRefused bool
}

// Text is a result that is a text, of an error or not.
func Text(text string, isError bool) *turnv1.ToolResult {
	return &turnv1.ToolResult{Content: []*turnv1.ContentPart{{Part: &turnv1.ContentPart_Text{Text: text}}}, IsError: isError}
}

// Progress is the progress of a call.
type Progress struct {
	// Done of Total, 0 = unknown.
	Done, Total float64
	// Message is one line for people.
	Message string
}

// Log is a log message of a tool's server.
type Log struct {
	// Level is one of the protocol's levels; Logger may be empty.
	Level, Logger string
	// Data is the message as JSON.
	Data []byte
}

// Notice is what comes before a call's answer; one of the fields is set.
type Notice struct {
	// Progress is the progress of the call.
	Progress *Progress
	// Log is a log message.
	Log *Log
}

// Elicitation is the method of a question to the user.
const Elicitation = "elicitation/create"

// Outcome is what became of a call without an answer.
type Outcome int

const (
	// Away means that the bridge was unreachable, so nothing was sent; it may be back in a moment.
	Away Outcome = iota + 1
	// NotSent means that nothing was sent. A retry helps only if the tool server was unreachable (TOOL_UNAVAILABLE).
	NotSent
	// Stopped means that nothing was sent, because the source was unreachable several times in a row. An immediate retry is pointless.
	Stopped
	// InDoubt means that the call may have run.
	InDoubt
	// TooLarge means that it ran, and its answer is too large for the mesh.
	TooLarge
)

// Error is a call without an answer.
type Error struct {
	// Outcome is what became of it.
	Outcome Outcome
	// Fault says why.
	Fault *fault.Error
}

// Unsent is the error of a call of which nothing was sent.
func Unsent(err error) *Error { return &Error{Outcome: NotSent, Fault: fault.From(err)} }

// Doubtful is the error of a call that may have run.
func Doubtful(err error) *Error { return &Error{Outcome: InDoubt, Fault: fault.From(err)} }

// Error returns the fault's text.
func (e *Error) Error() string { return e.Fault.Error() }

// NothingSent reports whether this attempt certainly did not run.
func (e *Error) NothingSent() bool {
	return e.Outcome == Away || e.Outcome == NotSent || e.Outcome == Stopped
}

// ServerAway reports whether nothing was sent because the tool server was unreachable.
func (e *Error) ServerAway() bool {
	return e.Outcome == NotSent && e.Fault.Reason == faultv1.Reason_REASON_TOOL_UNAVAILABLE
}

// Unwrap returns the fault.
func (e *Error) Unwrap() error { return e.Fault }

// ErrRefused means that a source refused the token of a user, and did nothing else.
var ErrRefused = errors.New("the source refused the user's token")

// ScopesError means that a source refused the scopes of a user's token, and did nothing else.
type ScopesError struct {
	// Wanted are the scopes that it wants.
	Wanted []string
}

// Error implements error.
func (e *ScopesError) Error() string {
	return "the source wants other scopes of the user's token: " + strings.Join(e.Wanted, " ")
}

// DetailState is the detail of a sync's fault that names the state of the source. Without it, the source is unreachable.
const DetailState = "state"

// Invalid marks the fault of a sync that reached its server, or did not have to, and lists no tools until the source or its server changes.
func Invalid(f *fault.Error) *fault.Error {
	invalid := *f
	invalid.Details = map[string]string{DetailState: store.Invalid}
	if f.Code == codes.InvalidArgument && f.Todo != "" { // it says what to correct
		return &invalid
	}
	return invalid.Hint("Correct the source, or what its server returns, and sync the source again.")
}
