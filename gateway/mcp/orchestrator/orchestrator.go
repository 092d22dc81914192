// Package orchestrator is the part of the MCP server with which an MCP client, or an agent that is one, runs agents of the mesh: as tools
// that list agents, start sessions, send to them, wait for them and cancel them.
package orchestrator

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"time"

	"google.golang.org/grpc"

	"github.com/windlass-dev/windlass/libs/fault"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
)

// Name is where the tools are served, in place of the name of a source.
const Name = "orchestrator"

// Headers of a client that is a session itself.
const (
	// SessionHeader has the id of the session.
	SessionHeader = "X-Agent-Session-Id"
	// RunnerHeader has the id of the worker or program that runs it.
	RunnerHeader = "X-Agent-Runner-Id"
)

// Labels of a session that another session has started.
const (
	ParentSession = "parent_session_id"
	ParentAgent   = "parent_agent_id"
	// ParentCapabilities is the label "capabilities" of the parent's agent.
	ParentCapabilities = "parent_capabilities"
	// Runner is what the parent says in RunnerHeader.
	Runner = "runner_id"
)

// Orchestrator runs agents on behalf of the principal of the call's context.
type Orchestrator struct {
	agents   sessionsv1.AgentServiceClient
	sessions sessionsv1.SessionServiceClient
	turns    sessionsv1.TurnServiceClient

	approvals sessionsv1.ApprovalServiceClient
	inbox     string // where people answer; "" = it is not known
}

// New returns the orchestrator over a connection to the sessions service that forwards the principal of the call's context. url is where
// people find the console; "" = nowhere.
func New(conn grpc.ClientConnInterface, url string) *Orchestrator {
	o := &Orchestrator{
		agents: sessionsv1.NewAgentServiceClient(conn), sessions: sessionsv1.NewSessionServiceClient(conn),
		turns: sessionsv1.NewTurnServiceClient(conn), approvals: sessionsv1.NewApprovalServiceClient(conn),
	}
	if url != "" {
		o.inbox = strings.TrimSuffix(url, "/") + inboxPath
	}
	return o
}

// Call is one call of a tool.
type Call struct {
	// Arguments is a JSON object.
	Arguments json.RawMessage
	// Key makes a repeated call the same one; empty = each call is a new one.
	Key string
	// Caller is the id of the session that calls, and Runner what runs it, as they say; empty = none.
	Caller, Runner string
}

// Tool is one tool.
type Tool struct {
	// Name, Title and Description are for models and people.
	Name, Title, Description string
	// Input is the schema of the arguments.
	Input json.RawMessage
	// ReadOnly means that it changes nothing. Idempotent means that it may be repeated.
	ReadOnly, Idempotent bool

	run func(ctx context.Context, o *Orchestrator, c Call) (any, error)
}

// Tools returns the tools in the order in which a client uses them.
func Tools() []Tool { return tools }

// Run calls a tool. The result is a value for JSON. Errors are faults: NOT_FOUND for an unknown tool, INVALID_ARGUMENT for wrong arguments.
func (o *Orchestrator) Run(ctx context.Context, name string, c Call) (any, error) {
	for _, t := range tools {
		if t.Name == name {
			return t.run(ctx, o, c)
		}
	}
	return nil, fault.NotFound("there is no tool %q", name)
}

// read reads arguments; unknown ones are an error, because a model has made them up and expects something of them.
func read[T any](c Call) (T, error) {
	var args T
	decoder := json.NewDecoder(bytes.NewReader(c.Arguments))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&args); err != nil {
		return args, fault.Invalid("arguments", "are not as the tool's schema says: %v", err)
	}
	return args, nil
}

// key returns the idempotency key of one of a call's requests.
func (c Call) key(request string) string {
	if c.Key == "" {
		return ""
	}
	return c.Key + "/" + request
}

// maxWait limits how long a tool waits for a turn.
const maxWait = 10 * time.Minute

// pollWait is how long one request waits; the API allows a minute.
const pollWait = 30 * time.Second
