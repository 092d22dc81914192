// Package execute runs tool calls: the one path for turns and for direct calls. A call is decided by policy, checked
// against the tool's schema, written to the ledger, sent, and its result written to the ledger. The key of a call makes it
// one execution, however often, from wherever and after whatever crash it is asked for.
package execute

import (
	"crypto/sha256"
	"encoding/hex"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/windlass-dev/windlass/libs/canon"
	"github.com/windlass-dev/windlass/libs/fault"
	policyv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policy/v1"
	registryv1 "github.com/windlass-dev/windlass/proto/gen/windlass/registry/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/registry/upstream"
)

// maxArguments bounds the text of a call's arguments, in bytes.
const maxArguments = 1 << 20

// Call is one wish to run a tool.
type Call struct {
	// Principal is on whose behalf; Tenant where.
	Principal *policyv1.Principal
	Tenant    string
	// Tool is the namespaced name.
	Tool string
	// Pinned is the hash of the definition whose schema the arguments must fit; empty = the present one.
	Pinned string
	// InSurface is false for a tool that the caller's turn was not given; it is answered as unknown.
	InSurface bool
	// Arguments is JSON text, possibly invalid.
	Arguments []byte
	// TurnID, SessionID and CallID say where the call comes from; empty for a direct one.
	TurnID, SessionID, CallID string
	// Key makes it the same execution when asked again. Required.
	Key string
	// Rules are the approval rules of the agent.
	Rules []*policyv1.ApprovalRule
	// Approved is evidence of leave that was given for the call; nil = none.
	Approved *registryv1.Approved
	// Input answers what an earlier attempt asked; nil = nothing was asked.
	Input *registryv1.InputAnswer
	// Resolution says what became of the call when its outcome was unknown; nil = nobody said.
	Resolution *registryv1.Resolution
	// CanWait tells that the caller can have people asked. Without it a call that needs them is refused.
	CanWait bool
}

// Event is something that happens on the way; one of the fields is set.
type Event struct {
	// Decided tells what policy said.
	Decided *Decision
	// Executing is the id of the ledger row of a call that leaves now.
	Executing string
	// Progress is how far it is.
	Progress *upstream.Progress
}

// Decision is what policy said.
type Decision struct {
	// ID names the recorded decision.
	ID string
	// Allowed is the answer, Reason the text for people.
	Allowed bool
	Reason  string
}

// Outcome is the end of a call, for now where it waits for somebody. It is shared between callers and must not be changed.
type Outcome struct {
	// Result is the tool's whole answer; nil when there is none, then Fault says why.
	Result *turnv1.ToolResult
	// Fault says why the call did not run, or what went wrong on the way.
	Fault *fault.Error
	// Approval is what leave has to be given for first: nothing has left.
	Approval *registryv1.ApprovalRequired
	// Input is what the tool asks before it goes on.
	Input *registryv1.InputRequired
	// Code is stable, "" for a plain answer.
	Code string
	// Cached means that nothing was called now: the ledger knew.
	Cached bool
	// Unresolved means that a ONCE call may or may not have run, and will not be repeated.
	Unresolved bool
	// ExecutionID is the ledger row, empty when the call never got that far.
	ExecutionID string
	// Latency is the wall time of the call itself.
	Latency time.Duration

	source string // for the metrics; empty for an unknown tool
}

func failed(f *fault.Error) Outcome { return Outcome{Fault: f, Code: fault.CodeName(f.Reason)} }

// request is a call with its arguments read.
type request struct {
	Call
	args     canon.Object
	badArgs  error  // why they could not be read
	argsHash string // also of text that could not be read
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

// same reports whether two requests with one key ask for the same execution.
func (r *request) same(tool, subject, argsHash string) bool {
	return r.Tool == tool && r.Principal.GetSubject() == subject && r.argsHash == argsHash
}

// brings reports whether the request carries an answer that the other one for the same execution does not.
func (r *request) brings(other *request) bool {
	return r.Approved != nil && !proto.Equal(r.Approved, other.Approved) ||
		r.Input != nil && !proto.Equal(r.Input, other.Input) ||
		r.Resolution != nil && !proto.Equal(r.Resolution, other.Resolution)
}
