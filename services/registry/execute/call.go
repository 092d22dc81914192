// Package execute runs tool calls, from turns and direct ones alike. A call is decided by policy, validated against the tool's schema,
// written to the ledger and sent, and its result is written to the ledger. The key of a call makes it one execution, however often and from
// wherever it is requested, and whatever crashes in between.
package execute

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/windlass-dev/windlass/libs/canon"
	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/providerdata"
	policyv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policy/v1"
	registryv1 "github.com/windlass-dev/windlass/proto/gen/windlass/registry/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/registry/source"
)

// maxArguments limits the text of a call's arguments, in bytes.
const maxArguments = 1 << 20

var errTooLong = fmt.Errorf("longer than %d bytes", maxArguments)

// Call is a request to run a tool.
type Call struct {
	// Principal is on whose behalf the tool runs; Tenant is where.
	Principal *policyv1.Principal
	Tenant    string
	// Tool is the namespaced name.
	Tool string
	// Pinned is the hash of the definition to validate the arguments against; empty = the present one.
	Pinned string
	// InSurface is false for a tool that the caller's turn does not have; it is answered as unknown.
	InSurface bool
	// Arguments is JSON text, possibly invalid.
	Arguments []byte
	// TurnID, SessionID and CallID are the origin of the call; empty for a direct one.
	TurnID, SessionID, CallID string
	// RunnerID is the worker of a turn, or what a calling session says its runner is.
	RunnerID string
	// Key identifies the execution across repeated requests. Required.
	Key string
	// NewKey means that the key was made for this request, which is no repetition and is not repeated.
	NewKey bool
	// Rules are the approval rules of the agent.
	Rules []*policyv1.ApprovalRule
	// Banks are the banks of the agent of the turn.
	Banks []string
	// Tainted means that the model had read content that is not trusted.
	Tainted bool
	// Approved is evidence of an approval of the call; nil = none.
	Approved *registryv1.Approved
	// Input answers the question of an earlier attempt; nil = none was asked.
	Input *registryv1.InputAnswer
	// Resolution resolves a call whose outcome was unknown; nil = none.
	Resolution *registryv1.Resolution
	// CanWait means that the caller can wait for people. Otherwise a call that needs them is refused.
	CanWait bool
	// Accepts are the methods of an MCP server's requests that a direct caller answers at once, though it cannot wait for an approval.
	Accepts []string
	// Fresh means that the tool is called even if the cache has a result.
	Fresh bool
	// LogLevel is the lowest level of log messages that the caller wants; empty = none.
	LogLevel string
	// ProviderData is what came with the request that the call is part of.
	ProviderData providerdata.Sealed
	// Token is the sealed token of the caller of a direct call; nil = none.
	Token []byte
	// SealResult means that the ledger keeps the result sealed, since shields have not seen it yet.
	SealResult bool
}

// Event is a step in a call's execution; one of the fields is set.
type Event struct {
	// Decided is policy's decision.
	Decided *Decision
	// Executing is the id of the ledger row of a call that is sent now.
	Executing string
	// Progress is the call's progress.
	Progress *source.Progress
	// Log is a log message of the tool's server.
	Log *source.Log
}

// Decision is policy's decision.
type Decision struct {
	// ID identifies the recorded decision.
	ID string
	// Allowed is the decision, Reason the text for people.
	Allowed bool
	Reason  string
}

// Outcome is the result of a call, or what it waits for. It is shared between callers and must not be modified.
type Outcome struct {
	// Result is the tool's whole answer; nil if there is none, then Fault says why.
	Result *turnv1.ToolResult
	// Fault says why the call did not run, or how it failed.
	Fault *fault.Error
	// Approval is the approval that is required first: nothing was sent.
	Approval *registryv1.ApprovalRequired
	// Input is what the tool asks before it continues.
	Input *registryv1.InputRequired
	// Code is a stable code, "" for a plain answer.
	Code string
	// Cached means that the result came from the cache or the ledger and nothing was called.
	Cached bool
	// Unresolved means that a ONCE call may or may not have run, and will not be repeated.
	Unresolved bool
	// ExecutionID is the ledger row, empty if the call never got one.
	ExecutionID string
	// Latency is the duration of the call itself.
	Latency time.Duration

	source string // for the metrics; empty for an unknown tool
}

func failed(f *fault.Error) Outcome { return Outcome{Fault: f, Code: fault.CodeName(f.Reason)} }

// request is a call with parsed arguments.
type request struct {
	Call
	args     canon.Object
	badArgs  error  // why the arguments could not be parsed
	argsHash string // also of text that could not be parsed
}

func newRequest(c Call) *request {
	r := &request{Call: c}
	if len(c.Arguments) > maxArguments {
		r.badArgs = errTooLong
	} else {
		r.args, r.badArgs = canon.Parse(c.Arguments)
	}
	if r.badArgs != nil {
		sum := sha256.Sum256(c.Arguments)
		r.argsHash = hex.EncodeToString(sum[:])
	} else {
		r.argsHash = r.args.Hash()
	}
	return r
}

// same reports whether two requests with one key are for the same execution.
func (r *request) same(tool, subject, argsHash string) bool {
	return r.Tool == tool && r.Principal.GetSubject() == subject && r.argsHash == argsHash
}

// brings reports whether the request carries an answer that the other request for the same execution lacks.
func (r *request) brings(other *request) bool {
	return r.Approved != nil && !proto.Equal(r.Approved, other.Approved) ||
		r.Input != nil && !proto.Equal(r.Input, other.Input) ||
		r.Resolution != nil && !proto.Equal(r.Resolution, other.Resolution)
}
