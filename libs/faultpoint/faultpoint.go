// Package faultpoint marks lines at which a test can kill, stall or fail a process. Only programs built with the tag "faults" contain the
// points; in all others the functions are empty and inlined, and not even the names of the points are in the binary.
//
// A point is armed with an action in one of two ways:
//   - the variable WINDLASS_FAULT, a list such as "sessions.journaled:kill,policy.decision-stored:error:3", when the process starts;
//   - a file named like the point in the folder WINDLASS_FAULT_DIR, with the action as its content, at any time.
//
// An action is one of
//   - kill: the process kills itself at this line;
//   - stall: the line blocks until the file NAME.taken in WINDLASS_FAULT_DIR is removed;
//   - error: Fail returns an error (Hit ignores it);
//   - panic: the line panics;
//   - profile: the profiles of the process are written to the folder, POINT.PROFILE.DEBUG.profile;
//
// and a suffix ":N" delays it to the N-th hit. An armed action happens once: with a folder, once among all processes that share it,
// including restarted ones.
//
// The same programs have a clock that tests can set, see Clock. Databases, the verifier of access tokens and the built-in issuer use it.
package faultpoint

// Point is a line that can be armed, ROLE.WHAT.
type Point string

// Points, in the order in which a turn reaches them.
const (
	// Journaled: a transaction with events is committed; neither the bus nor the caller has been notified.
	Journaled Point = "sessions.journaled"
	// GatewayAnswered: a service has answered a REST call; the HTTP client has not received the answer.
	GatewayAnswered Point = "gateway.answered"
	// Started: a worker has read a turn and is about to run its first open step.
	Started Point = "worker.started"
	// ModelAsked: inference is about to call a model.
	ModelAsked Point = "inference.model-asked"
	// ModelSaid: inference has forwarded part of a model's answer.
	ModelSaid Point = "inference.model-said"
	// ModelDone: inference has the whole answer; the worker has not received its end.
	ModelDone Point = "inference.model-done"
	// InferOpened: a worker is about to ask a model while the claim of the step is being committed.
	InferOpened Point = "worker.infer-opened"
	// InferDone: a worker has a model's whole answer, uncommitted.
	InferDone Point = "worker.infer-done"
	// CompactDone: a worker has a model's summary of older messages, uncommitted.
	CompactDone Point = "worker.compact-done"
	// PolicyDecided: the decision on a tool call is made; the caller has not received it.
	PolicyDecided Point = "policy.decision-stored"
	// PolicyRecording: policy is about to store decisions that it has answered.
	PolicyRecording Point = "policy.recording"
	// ToolOpened: the tool call's row is in the ledger; the call has not been sent.
	ToolOpened Point = "registry.tool-opened"
	// BridgeToolDone: the MCP bridge has a tool's answer; the registry does not.
	BridgeToolDone Point = "mcpbridge.tool-done"
	// ToolDone: the registry has a tool's answer; the ledger does not.
	ToolDone Point = "registry.tool-done"
	// ToolClosed: the ledger has the tool's answer; the worker does not.
	ToolClosed Point = "registry.tool-closed"
	// CallDone: a worker has a tool's answer, uncommitted.
	CallDone Point = "worker.call-done"
	// TurnEnded: the end of a turn is committed; the worker has not received the response.
	TurnEnded Point = "sessions.turn-ended"
)

// Points lists all points.
func Points() []Point {
	return []Point{
		Journaled, GatewayAnswered, Started, ModelAsked, ModelSaid, ModelDone, InferOpened, InferDone, PolicyDecided, PolicyRecording, ToolOpened,
		BridgeToolDone, ToolDone,
		ToolClosed, CallDone, TurnEnded, CompactDone,
	}
}
