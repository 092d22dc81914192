// Package faultpoint marks lines at which a test can kill, stall or fail a process. The points do nothing unless the main package controls
// them, which only programs for tests do (package armed). Other programs do not even contain the names of the points.
//
// The same programs have a clock that tests can set, see Clock. Databases, the verifier of access tokens and the built-in issuer use it.
package faultpoint

import "time"

// Point is a line that can be armed. The zero value is none.
type Point uint8

// Points, in the order in which a turn reaches them.
const (
	// Journaled: a transaction with events is committed; neither the bus nor the caller has been notified.
	Journaled Point = iota + 1
	// GatewayAnswered: a service has answered a REST call; the HTTP client has not received the answer.
	GatewayAnswered
	// Started: a worker has read a turn and is about to run its first open step.
	Started
	// ModelAsked: inference is about to call a model.
	ModelAsked
	// ModelSaid: inference has forwarded part of a model's answer.
	ModelSaid
	// ModelDone: inference has the whole answer; the worker has not received its end.
	ModelDone
	// InferOpened: a worker is about to ask a model while the claim of the step is being committed.
	InferOpened
	// InferDone: a worker has a model's whole answer, uncommitted.
	InferDone
	// CompactDone: a worker has a model's summary of older messages, uncommitted.
	CompactDone
	// PolicyDecided: the decision on a tool call is made; the caller has not received it.
	PolicyDecided
	// PolicyRecording: policy is about to store decisions that it has answered.
	PolicyRecording
	// ToolOpened: the tool call's row is in the ledger; the call has not been sent.
	ToolOpened
	// BridgeToolDone: the MCP bridge has a tool's answer; the registry does not.
	BridgeToolDone
	// ToolDone: the registry has a tool's answer; the ledger does not.
	ToolDone
	// ToolClosed: the ledger has the tool's answer; the worker does not.
	ToolClosed
	// CallDone: a worker has a tool's answer, uncommitted.
	CallDone
	// TurnEnded: the end of a turn is committed; the worker has not received the response.
	TurnEnded

	points
)

// Points lists all points.
func Points() []Point {
	var out []Point
	for p := Journaled; p < points; p++ {
		out = append(out, p)
	}
	return out
}

// Controls is what happens at the points of a program for tests.
type Controls struct {
	// Pass is called at each point. It may block or never return. Its error is returned by Fail.
	Pass func(Point) error
	// Clock returns the clock that tests set, nil if they set none.
	Clock func() func() time.Time
	// Variables are the environment variables that arm points.
	Variables []string
}

// controls is written once, before main.
var controls Controls

// Control sets what happens at the points. Only the init function of a main package may call it.
func Control(c Controls) { controls = c }

// Hit passes a point. It does nothing without Controls; with them it may block or never return.
func Hit(p Point) { _ = Fail(p) }

// Fail passes a point that may also return an error.
func Fail(p Point) error {
	if controls.Pass == nil {
		return nil
	}
	return controls.Pass(p)
}

// Variables returns the environment variables that arm points, none without Controls.
func Variables() []string { return controls.Variables }

// Clock returns the clock that tests set; nil if there is none, and time.Now is the clock.
func Clock() func() time.Time {
	if controls.Clock == nil {
		return nil
	}
	return controls.Clock()
}
