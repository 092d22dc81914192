// Package faultpoint marks lines at which a test may kill, stall or fail a process. It does so only in programs built with the tag
// "faults"; in all others its functions are empty and inlined away, and not even the points' names are in the program.
//
// A point is armed with an action in one of two ways:
//   - the variable WINDLASS_FAULT, a list such as "sessions.journaled:kill,policy.decision-stored:error:3", at the start of the process;
//   - a file named like the point in the folder WINDLASS_FAULT_DIR, with the action as its content, at any time.
//
// An action is one of
//   - kill: the process kills itself at this line;
//   - stall: the line waits until the file NAME.taken in WINDLASS_FAULT_DIR is removed;
//   - error: Fail returns an error (Hit ignores it);
//
// and with ":N" behind it happens the N-th time only. Each arming happens once: with a folder, once among all processes that share
// it, also those that are started again.
package faultpoint

// Point is a line that can be armed, ROLE.WHAT.
type Point string

// The points there are, in the order in which a turn comes by.
const (
	// Journaled: a transaction with events is committed; nothing of it was told to the bus or to the caller.
	Journaled Point = "sessions.journaled"
	// GatewayAnswered: a service has answered a call of REST; the HTTP client has not heard of it.
	GatewayAnswered Point = "gateway.answered"
	// Started: a worker has read a turn and is about to do its first open step.
	Started Point = "worker.started"
	// ModelAsked: inference is about to call a model.
	ModelAsked Point = "inference.model-asked"
	// ModelSaid: inference has passed on a piece of a model's answer.
	ModelSaid Point = "inference.model-said"
	// ModelDone: inference has the whole answer; the worker has not heard of its end.
	ModelDone Point = "inference.model-done"
	// InferDone: a worker has a model's whole answer; it is not committed.
	InferDone Point = "worker.infer-done"
	// CompactDone: a worker has a model's summary of older messages; it is not committed.
	CompactDone Point = "worker.compact-done"
	// PolicyDecided: the decision on a tool call is stored; whoever asked has not heard of it.
	PolicyDecided Point = "policy.decision-stored"
	// ToolOpened: the row of a tool call is in the ledger; the call has not left.
	ToolOpened Point = "registry.tool-opened"
	// BridgeToolDone: the MCP bridge has a tool's answer; the registry has not.
	BridgeToolDone Point = "mcpbridge.tool-done"
	// ToolDone: the registry has a tool's answer; the ledger does not have it.
	ToolDone Point = "registry.tool-done"
	// ToolClosed: the ledger has the tool's answer; the worker has not.
	ToolClosed Point = "registry.tool-closed"
	// CallDone: a worker has a tool's answer; it is not committed.
	CallDone Point = "worker.call-done"
	// TurnEnded: the end of a turn is committed; the worker has not heard of it.
	TurnEnded Point = "sessions.turn-ended"
)

// Points lists all of them.
func Points() []Point {
	return []Point{
		Journaled, GatewayAnswered, Started, ModelAsked, ModelSaid, ModelDone, InferDone, PolicyDecided, ToolOpened, BridgeToolDone, ToolDone,
		ToolClosed, CallDone, TurnEnded, CompactDone,
	}
}
