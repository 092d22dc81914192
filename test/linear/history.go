// Package linear records the requests and responses of concurrent clients, and checks with porcupine whether some order of these
// operations, consistent with which ended before which began, is one that the API promises.
package linear

import (
	"math"
	"sync"
	"time"

	"github.com/anishathalye/porcupine"
)

// Kind is what a client asked for.
type Kind string

const (
	// Send creates a turn (POST /v1/sessions/{id}/turns).
	Send Kind = "send"
	// Born is a Send with mode "fork" as the new session sees it: its first turn.
	Born Kind = "born"
	// Fork forks a session.
	Fork Kind = "fork"
	// Steer gives a turn more input.
	Steer Kind = "steer"
	// Cancel cancels a turn.
	Cancel Kind = "cancel"
	// ReadTurn and ReadSession read what they say.
	ReadTurn    Kind = "read turn"
	ReadSession Kind = "read session"
	// Final reads a session when all of its turns are over.
	Final Kind = "final"
	// Decide decides an approval, Resolve says what became of a call, ReadApproval reads either.
	Decide       Kind = "decide"
	Resolve      Kind = "resolve"
	ReadApproval Kind = "read approval"
)

// OK is the code of a call that succeeded. Unknown is that of a call whose answer was lost: it took effect at any time after it was made,
// or never. All others are error codes of the API.
const (
	OK      = "ok"
	Unknown = "unknown"
)

// Input is what was asked.
type Input struct {
	Kind    Kind
	Session string
	// Turn is the id of the turn that is steered, cancelled or read.
	Turn string
	// Key is the idempotency key, Mode the mode of a Send, Text what makes the request another one.
	Key, Mode, Text string
	// Approval is what is decided, resolved or read; Choice the decision or outcome; Subject who decides.
	Approval, Choice, Subject string
	// Late tells that the call was made after the approval's expiry.
	Late bool
}

// Output is what was answered.
type Output struct {
	Code string
	// Turn and Session are ids; Session is that of a fork.
	Turn, Session string
	// Message is the id of the message that a Steer wrote.
	Message string
	// Status is that of the turn or the approval; Active the active turn of a session.
	Status, Active string
	// Approval is what was decided or resolved, where the answer says so: a call that was lost again has another one than before.
	Approval string
	// Early tells that the answer came before the approval's expiry.
	Early bool
	// Final is what a session came to.
	Final *Outcome
}

// Outcome is a session whose turns are over, as its journal has it.
type Outcome struct {
	// Turns are in the order in which they were accepted.
	Turns []FinalTurn
	// Started are the ids of turns in the order in which they started.
	Started []string
}

// FinalTurn is one turn that is over.
type FinalTurn struct {
	// ID is the server's, Key that of the Send whose input it has.
	ID, Key string
	Status  string
	// Steers are the keys of the inputs that it accepted, in order.
	Steers []string
}

// Operation is one call and its answer. Times are nanoseconds of one monotonic clock.
type Operation struct {
	Client       int
	In           Input
	Out          Output
	Call, Return int64
}

// Recorder collects the operations of many clients.
type Recorder struct {
	from time.Time

	mu  sync.Mutex
	ops []*Operation
}

// NewRecorder begins a history.
func NewRecorder() *Recorder { return &Recorder{from: time.Now()} }

// Begin notes a call. The answer is given to the function that it returns; without one the outcome stays unknown.
func (r *Recorder) Begin(client int, in Input) func(Output) {
	op := &Operation{Client: client, In: in, Out: Output{Code: Unknown}, Call: int64(time.Since(r.from)), Return: math.MaxInt64}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ops = append(r.ops, op)
	return func(out Output) {
		at := int64(time.Since(r.from))
		r.mu.Lock()
		defer r.mu.Unlock()
		if op.Out = out; out.Code != Unknown {
			op.Return = at
		}
	}
}

// Operations returns what was recorded so far.
func (r *Recorder) Operations() []Operation {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := make([]Operation, len(r.ops))
	for i, op := range r.ops {
		out[i] = *op
	}
	return out
}

func (o Operation) porcupine() porcupine.Operation {
	return porcupine.Operation{ClientId: o.Client, Input: o.In, Output: o.Out, Call: o.Call, Return: o.Return}
}
