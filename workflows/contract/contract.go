// Package contract holds what the starter of a workflow and its worker must agree on: task queue, type, input, signal
// names, search attribute names. It has no Temporal code, so that a service may import it.
package contract

import "time"

// TaskTimeout is the workflow task timeout that the starter sets. It bounds how long a turn makes no progress when its worker is lost
// in the begin or finish step.
const TaskTimeout = 4 * time.Second

// ParkAfter is how long the workflow of a turn that waits stays with its worker, unless configured otherwise. A person who is present
// answers within that time, and then parking adds no cost.
const ParkAfter = 30 * time.Second

const (
	// TaskQueue is where turns wait for a worker.
	TaskQueue = "windlass-turns"
	// TurnWorkflow is the type name of the workflow that runs a turn. Its id is the turn's id, so a turn has one workflow at most.
	TurnWorkflow = "Turn"
	// SignalCancel asks a running turn to stop gracefully: running steps are stopped, the output so far is kept. It has no payload.
	// The sessions service writes the cancel into the journal first; the signal only speeds it up.
	SignalCancel = "cancel"
	// SignalWake notifies a waiting turn that a wait was answered. It has no payload: the answer is in the journal already, the signal
	// only speeds it up. Send it with SignalWithStart: a parked turn does not receive a plain signal.
	SignalWake = "wake"
)

// AgentToolPrefix begins the names of sub-agents as tools: "agent__billing".
const AgentToolPrefix = "agent__"

// Names of the search attributes of a turn, all of Temporal's type Keyword.
const (
	// AttributeAgent holds the agent's id.
	AttributeAgent = "WindlassAgent"
	// AttributeSession holds the session's id.
	AttributeSession = "WindlassSession"
	// AttributeStatus holds one of the Status values: running at the start, waiting while the turn is parked, then the turn's end.
	AttributeStatus = "WindlassStatus"
	// AttributeTenant holds the tenant.
	AttributeTenant = "WindlassTenant"
)

// Values of AttributeStatus; those of TurnResult.Status are the last three.
const (
	StatusRunning   = "running"
	StatusWaiting   = "waiting"
	StatusCompleted = "completed"
	StatusFailed    = "failed"
	StatusCancelled = "cancelled"
)

// TurnInput is what a turn's workflow starts from: references only.
type TurnInput struct {
	// Tenant the turn belongs to.
	Tenant string `json:"tenant"`
	// TurnID is "trn_…" and the workflow's id.
	TurnID string `json:"turn_id"`
	// SessionID is "ses_…".
	SessionID string `json:"session_id"`
	// AgentID names the agent that answers.
	AgentID string `json:"agent_id"`
	// ParkAfter is how long the turn's workflow waits before it is parked: its run ends, and the next one starts when there is something
	// new. 0 = it is never parked.
	ParkAfter Duration `json:"park_after,omitzero"`
	// Parked is set in the first input of a run if the run before parked the turn: what it waits for, and since when. The Temporal UI
	// shows it for a run that has not started.
	Parked string `json:"parked,omitempty"`
	// ParentTurnID is the turn of which this one is a child; empty for others.
	ParentTurnID string `json:"parent_turn_id,omitempty"`
	// Ended is set if the turn was over before its workflow was started, which then only shows it.
	Ended *Ended `json:"ended,omitempty"`
	// ShownUntil is set in the first input of a run that continues another: when the newest step was committed that the runs before show, in
	// UTC.
	ShownUntil time.Time `json:"steps_shown_until,omitzero"`
}

// Duration is a duration that people can read in JSON: "30s".
type Duration time.Duration

// MarshalText implements encoding.TextMarshaler.
func (d Duration) MarshalText() ([]byte, error) { return []byte(time.Duration(d).String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (d *Duration) UnmarshalText(text []byte) error {
	parsed, err := time.ParseDuration(string(text))
	*d = Duration(parsed)
	return err
}

// EagerRun announces to workers a turn that may begin.
type EagerRun struct {
	TurnInput
	// TraceParent is the W3C traceparent of the request that made the turn, empty without a trace.
	TraceParent string `json:"trace_parent,omitempty"`
}

// WorkflowLink links to a turn's workflow in the Temporal UI, as Markdown.
func WorkflowLink(namespace, turnID string) string {
	return "[" + turnID + "](/namespaces/" + namespace + "/workflows/" + turnID + ")"
}

// Ended is how a turn ended, with its steps in order, each in a line.
type Ended struct {
	Steps []string `json:"steps"`
	TurnResult
}

// TurnResult is the result of a turn's workflow: counts and references, never content. The journal has the rest.
type TurnResult struct {
	// Status is StatusCompleted, StatusFailed or StatusCancelled.
	Status string `json:"status"`
	// StopReason is why the turn stopped, see windlass.turn.v1.TurnEnded.
	StopReason string `json:"stop_reason"`
	// ErrorCode is the stable code of a failed turn.
	ErrorCode string `json:"error_code,omitempty"`
	// ModelCalls is the number of model calls.
	ModelCalls int `json:"model_calls"`
	// ToolCalls is the number of tool calls.
	ToolCalls int `json:"tool_calls"`
}
