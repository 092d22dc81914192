package store

import "time"

// States of a source.
const (
	// Pending means never reached yet.
	Pending = "pending"
	// Ready means that the last look at it succeeded.
	Ready = "ready"
	// Unreachable means that the last look at it failed.
	Unreachable = "unreachable"
)

// Kinds of sources.
const (
	// MCP is an MCP server, reached through the bridge.
	MCP = "mcp"
	// Builtin is the mesh itself.
	Builtin = "builtin"
)

// States of an execution.
const (
	// Open means sent or about to be.
	Open = "open"
	// Done means that there is a result.
	Done = "done"
	// Failed means that it surely did not run, or that a READ was given up.
	Failed = "failed"
	// Unresolved means that nobody knows whether it ran.
	Unresolved = "unresolved"
	// Waiting means that the tool asked something, and is called again with the answer. The row's result is the question.
	Waiting = "waiting"
)

// What is said of a call whose outcome was unknown.
const (
	// SaidDone means that it was done; the row has the result.
	SaidDone = "done"
	// SaidNotDone means that it was not, so it was called again.
	SaidNotDone = "not_done"
	// SaidNothing means that nobody will find out.
	SaidNothing = "given_up"
)

// Resolution is what somebody said of a call whose outcome was unknown. The zero value means that nobody was asked.
type Resolution struct {
	// ID names the wait that was answered; the same one is used once.
	ID string
	// What is SaidDone, SaidNotDone or SaidNothing.
	What string
	// By is who said so, Comment what he added.
	By, Comment string
	// Time is when.
	Time time.Time
}

// Effect is what a call may change. The numbers are stored; they are those of windlass.turn.v1.EffectClass.
type Effect int

// Effect classes.
const (
	// Unknown is treated as Once.
	Unknown Effect = 0
	// Read changes nothing.
	Read Effect = 1
	// Idempotent may be repeated with the same key.
	Idempotent Effect = 2
	// Once is never repeated.
	Once Effect = 3
)

// Repeatable reports whether a call in doubt may be sent again.
func (e Effect) Repeatable() bool { return e == Read || e == Idempotent }

// Spec is the part of a source that its owner writes, kept as JSON.
type Spec struct {
	// URL, or Command with Env and Dir, tells how to reach an MCP server.
	URL string `json:"url,omitempty"`
	// Command is program and arguments.
	Command []string `json:"command,omitempty"`
	// Env is the program's environment; secrets are references.
	Env map[string]string `json:"env,omitempty"`
	// Dir is the program's working directory.
	Dir string `json:"dir,omitempty"`
	// Headers go with each HTTP request; secrets are references.
	Headers map[string]string `json:"headers,omitempty"`
	// Transport forces one.
	Transport string `json:"transport,omitempty"`
	// CallTimeout bounds one call, in seconds; 0 = the service's default.
	CallTimeout uint32 `json:"call_timeout_seconds,omitempty"`
	// Effects override annotations, by the server's own tool name.
	Effects map[string]Effect `json:"effects,omitempty"`
	// Elicitation is "off" where questions of the tools to the user are declined; else he is asked.
	Elicitation string `json:"elicitation,omitempty"`
	// Labels are free.
	Labels map[string]string `json:"labels,omitempty"`
}

// Source is where tools come from.
type Source struct {
	// Tenant and ID name it; Name is unique in the tenant and never changes.
	Tenant, ID, Name string
	// Kind is MCP or Builtin.
	Kind string
	// Spec is its definition.
	Spec Spec
	// Disabled switches it off.
	Disabled bool
	// State is Pending, Ready or Unreachable; LastError says why.
	State, LastError string
	// SyncTime is the last successful look at it; zero = never.
	SyncTime time.Time
	// ToolCount is the number of tools it has now.
	ToolCount int
	// ServerVersion and ProtocolVersion are what the server says.
	ServerVersion, ProtocolVersion string
	// CreateTime and UpdateTime are those of the definition.
	CreateTime, UpdateTime time.Time
	// Revision rises with each change of the definition, from 1.
	Revision uint32
}

// Effect returns a tool's effect class: the owner's word, else the definition's.
func (s Source) Effect(d Definition) Effect { return s.effect(d.OriginalName, d.Effect) }

func (s Source) effect(original string, declared Effect) Effect {
	if e := s.Spec.Effects[original]; e != Unknown {
		return e
	}
	if declared == Unknown {
		return Once
	}
	return declared
}

// Definition is a tool as its source described it once. It never changes.
type Definition struct {
	// Tenant and Hash name it.
	Tenant, Hash string
	// Name is the namespaced name, Source its first part's owner, OriginalName the source's own name.
	Name, Source, OriginalName string
	// Title and Description are for people and models.
	Title, Description string
	// Raw, InputSchema and OutputSchema are JSON, byte for byte.
	Raw, InputSchema, OutputSchema []byte
	// Effect is what the definition itself says.
	Effect Effect
	// CreateTime is when it was first seen.
	CreateTime time.Time
}

// Tool is a tool offered now.
type Tool struct {
	// Tenant and Name name it.
	Tenant, Name string
	// OriginalName is the source's own name.
	OriginalName string
	// DefinitionHash names its definition.
	DefinitionHash string
	// Effect is its effect class, the source owner's word included.
	Effect Effect
	// CreateTime is when the tool was first seen, UpdateTime when its definition last changed.
	CreateTime, UpdateTime time.Time
	// Source is where it comes from.
	Source Source
	// Definition is set by Tools only.
	Definition Definition
}

// Found is one tool that a look at a source found.
type Found struct {
	// OriginalName is unique among the found.
	OriginalName string
	// Title and Description are for people and models.
	Title, Description string
	// Raw, InputSchema and OutputSchema are JSON, byte for byte.
	Raw, InputSchema, OutputSchema []byte
	// Effect is what the definition itself says.
	Effect Effect
}

// Inventory is what a look at a source found.
type Inventory struct {
	// Tools in the source's order.
	Tools []Found
	// ServerVersion and ProtocolVersion are what the server says.
	ServerVersion, ProtocolVersion string
	// Time is when the look ended.
	Time time.Time
}

// Diff tells what an inventory changed, in namespaced names, sorted.
type Diff struct {
	// Added, Removed and Changed are tools.
	Added, Removed, Changed []string
	// Total is the number of tools there are now.
	Total int
}

// Execution is one row of the ledger.
type Execution struct {
	// Tenant and ID name it; Key makes it the same execution when asked again.
	Tenant, ID, Key string
	// Tool, Source (name) and DefinitionHash are what was called.
	Tool, Source, DefinitionHash string
	// TurnID, SessionID and CallID are where; empty for a direct call.
	TurnID, SessionID, CallID string
	// Subject is on whose behalf.
	Subject string
	// Effect is the class it was called under.
	Effect Effect
	// State is Open, Done, Failed or Unresolved.
	State string
	// Attempts counts how often it was sent.
	Attempts int
	// ArgumentsHash is over the canonical arguments.
	ArgumentsHash string
	// DecisionID is the policy decision that allowed it.
	DecisionID string
	// ApprovalID is the approval under which it ran, empty when none was needed.
	ApprovalID string
	// Resolution is what somebody said of its unknown outcome.
	Resolution Resolution
	// IsError and Code describe the result.
	IsError bool
	Code    string
	// Result is the encoded result of a finished row, the encoded question of a waiting one.
	Result []byte
	// Latency is the wall time.
	Latency time.Duration
	// Owner is the replica that runs it, Lease until when others must believe that.
	Owner string
	Lease time.Time
	// CreateTime and EndTime bound it.
	CreateTime, EndTime time.Time
}

// ExecutionFilter narrows the list of executions.
type ExecutionFilter struct {
	// TurnID and Tool keep those of one turn, of one tool; empty = all.
	TurnID, Tool string
}

// Cursor is a place in the list of executions: after this one.
type Cursor struct {
	// Micros is the row's creation time.
	Micros int64 `json:"t"`
	// ID is its id.
	ID string `json:"i"`
}
