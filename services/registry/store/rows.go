package store

import (
	"time"

	"github.com/windlass-dev/windlass/libs/canon"
	"github.com/windlass-dev/windlass/libs/credential"
)

// States of a source.
const (
	// Pending means never reached yet.
	Pending = "pending"
	// Ready means that the last sync succeeded.
	Ready = "ready"
	// Unreachable means that the last sync did not reach the server, or that the server was not able to answer.
	Unreachable = "unreachable"
	// Invalid means that the last sync reached the server, which did not return what the kind of the source needs.
	Invalid = "invalid"
)

// States of an execution.
const (
	// Open means sent or about to be.
	Open = "open"
	// Done means that there is a result.
	Done = "done"
	// Failed means that it certainly did not run, or that a READ was given up.
	Failed = "failed"
	// Unresolved means that its outcome is unknown.
	Unresolved = "unresolved"
	// Waiting means that the tool asked a question and is called again with the answer. The row's result is the question.
	Waiting = "waiting"
)

// Resolutions of a call whose outcome was unknown.
const (
	// SaidDone means that it was done; the row has the result.
	SaidDone = "done"
	// SaidNotDone means that it was not, so it was called again.
	SaidNotDone = "not_done"
	// SaidNothing means that its outcome stays unknown.
	SaidNothing = "given_up"
)

// Resolution is a person's resolution of a call whose outcome was unknown. The zero value means none.
type Resolution struct {
	// ID identifies the wait that was answered; each is used once.
	ID string
	// What is SaidDone, SaidNotDone or SaidNothing.
	What string
	// By is who resolved it, Comment their comment.
	By, Comment string
	// Time is when.
	Time time.Time
}

// Effect is a call's effect class. The stored numbers are those of windlass.turn.v1.EffectClass.
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

// Auth is the credential of a source. All values are references or no secrets.
type Auth = credential.Auth

// ProviderData says which credentials of a request a source's calls get.
type ProviderData struct {
	// Meta are keys that an MCP server gets in _meta.
	Meta []string `json:"meta,omitempty"`
	// Headers are headers of the calls, each with its key.
	Headers map[string]string `json:"headers,omitempty"`
	// Optional are those of these keys that a request may lack.
	Optional []string `json:"optional,omitempty"`
}

// OperationFilter selects operations of a document; all conditions that are set must hold.
type OperationFilter struct {
	// Tags are tags, Paths and Names are globs over paths and operation ids.
	Tags  []string `json:"tags,omitempty"`
	Paths []string `json:"paths,omitempty"`
	Names []string `json:"names,omitempty"`
}

// Endpoint is an operation of an HTTP API that is written by hand; its fields are those of the API.
type Endpoint struct {
	Name         string            `json:"name"`
	Description  string            `json:"description,omitempty"`
	Method       string            `json:"method,omitempty"`
	Path         string            `json:"path"`
	Query        map[string]string `json:"query,omitempty"`
	Headers      map[string]string `json:"headers,omitempty"`
	Body         canon.JSON        `json:"body,omitempty"`
	Form         map[string]string `json:"form,omitempty"`
	Text         string            `json:"text,omitempty"`
	MediaType    string            `json:"media_type,omitempty"`
	InputSchema  canon.JSON        `json:"input_schema,omitempty"`
	OutputSchema canon.JSON        `json:"output_schema,omitempty"`
	Tags         []string          `json:"tags,omitempty"`
	Deprecated   bool              `json:"deprecated,omitempty"`
	KeyHeader    string            `json:"key_header,omitempty"`
}

// ResultCache says how long results of a source's tools are kept.
type ResultCache struct {
	// Disabled means that none are.
	Disabled bool `json:"disabled,omitempty"`
	// TTL is in seconds, 0 = the service's default; Tools overrides it by the server's own tool name, where 0 means never.
	TTL   uint32            `json:"ttl_seconds,omitempty"`
	Tools map[string]uint32 `json:"tool_ttl_seconds,omitempty"`
	// Shared means that results do not depend on the user.
	Shared bool `json:"shared,omitempty"`
}

// Temporal is where the workflows of a source run.
type Temporal struct {
	Address   string `json:"address"`
	Namespace string `json:"namespace,omitempty"`
	TLS       bool   `json:"tls,omitempty"`
}

// WorkflowTool is a Temporal workflow that is a tool; its fields are those of the API.
type WorkflowTool struct {
	Name             string     `json:"name"`
	Description      string     `json:"description,omitempty"`
	Type             string     `json:"workflow_type,omitempty"`
	TaskQueue        string     `json:"task_queue"`
	InputSchema      canon.JSON `json:"input_schema,omitempty"`
	OutputSchema     canon.JSON `json:"output_schema,omitempty"`
	Positional       []string   `json:"positional,omitempty"`
	Mode             string     `json:"mode,omitempty"`
	ID               string     `json:"workflow_id,omitempty"`
	ExecutionTimeout uint32     `json:"execution_timeout_seconds,omitempty"`
	Tags             []string   `json:"tags,omitempty"`
	Effect           Effect     `json:"effect,omitempty"`
}

// UserLogin reports whether the source is called with a login of each user.
func (s Spec) UserLogin() bool { return s.Auth != nil && s.Auth.Kind == credential.AuthorizationCode }

// Exchange reports whether the source is called with tokens of users that their issuer exchanged.
func (s Spec) Exchange() bool { return s.Auth != nil && s.Auth.Kind == credential.Exchange }

// Spec is the part of a source that its owner writes, stored as JSON.
type Spec struct {
	// URL, or Command with Env and Dir, is the MCP server's endpoint. Of an OpenAPI source, URL is where its document is.
	URL string `json:"url,omitempty"`
	// Command is program and arguments.
	Command []string `json:"command,omitempty"`
	// Env is the program's environment; secrets are references.
	Env map[string]string `json:"env,omitempty"`
	// Dir is the program's working directory, or the folder of a source of skills.
	Dir string `json:"dir,omitempty"`
	// Headers are sent with each HTTP request; secrets are references.
	Headers map[string]string `json:"headers,omitempty"`
	// Transport forces one.
	Transport string `json:"transport,omitempty"`
	// CallTimeout bounds one call, in seconds; 0 = the service's default.
	CallTimeout uint32 `json:"call_timeout_seconds,omitempty"`
	// Effects override annotations, by the server's own tool name.
	Effects map[string]Effect `json:"effects,omitempty"`
	// Pin holds changed definitions back until they are accepted.
	Pin bool `json:"pin,omitempty"`
	// Elicitation is "off" if questions of the tools to the user are declined; otherwise the user is asked.
	Elicitation string `json:"elicitation,omitempty"`
	// ClientRequests are the requests of the server, besides questions to users, that direct callers answer: "sampling" and "roots".
	ClientRequests []string `json:"client_requests,omitempty"`
	// SessionContext sends the server what is known of the session of a call.
	SessionContext bool `json:"session_context,omitempty"`
	// Labels are arbitrary.
	Labels map[string]string `json:"labels,omitempty"`
	// Exclude switches tools off, by globs over the server's own names.
	Exclude []string `json:"exclude,omitempty"`
	// Trusted are the tools whose results are trusted, by globs over the server's own names.
	Trusted []string `json:"trusted,omitempty"`
	// BaseURL replaces the servers of an API's document.
	BaseURL string `json:"base_url,omitempty"`
	// Operations selects operations of an API; nil = all.
	Operations *OperationFilter `json:"operations,omitempty"`
	// Auth is its credential; nil = none.
	Auth *Auth `json:"auth,omitempty"`
	// SyncAuth is the credential for syncs of a source whose Auth is of each user; nil = none.
	SyncAuth *Auth `json:"sync_auth,omitempty"`
	// ProviderData says which credentials of a request its calls get; nil = none.
	ProviderData *ProviderData `json:"provider_data,omitempty"`
	// MaxCalls is the number of calls in parallel, 0 = the service's default; MaxRate the calls per second, 0 = unlimited.
	MaxCalls uint32  `json:"max_calls,omitempty"`
	MaxRate  float64 `json:"max_calls_per_second,omitempty"`
	// Cache says how long results are kept; nil = as by default.
	Cache *ResultCache `json:"cache,omitempty"`
	// Endpoints are those of an API that are written by hand.
	Endpoints []Endpoint `json:"endpoints,omitempty"`
	// KeyHeader is the metadata in which a gRPC server takes the key of a call; empty = it takes none.
	KeyHeader string `json:"key_header,omitempty"`
	// Temporal is where the Workflows of a source run; nil for other kinds.
	Temporal  *Temporal      `json:"temporal,omitempty"`
	Workflows []WorkflowTool `json:"workflows,omitempty"`
	// Agents selects the agents of a source, by globs over their ids; empty = all.
	Agents []string `json:"agents,omitempty"`
}

// Source is where tools come from.
type Source struct {
	// Tenant and ID identify it; Name is unique in the tenant and never changes.
	Tenant, ID, Name string
	// Kind is the name of one of the kinds that package kinds lists.
	Kind string
	// Spec is its definition.
	Spec Spec
	// Document is the document of an OpenAPI source without URL, or in base64 the descriptor set of a gRPC server or the archive of a source
	// of skills. Lists of sources and tools leave it out.
	Document string
	// Disabled switches it off.
	Disabled bool
	// State is Pending, Ready, Unreachable or Invalid; LastError says why.
	State, LastError string
	// SyncTime is the time of the last successful sync; zero = never.
	SyncTime time.Time
	// ToolCount is its present number of tools.
	ToolCount int
	// DriftedCount is the number of tools whose changed definition is held back.
	DriftedCount int
	// ServerVersion and ProtocolVersion are reported by the server.
	ServerVersion, ProtocolVersion string
	// CreateTime and UpdateTime are those of the definition.
	CreateTime, UpdateTime time.Time
	// Revision rises with each change of the definition, from 1.
	Revision uint32
	// Digest is that of the inventory that was applied last; empty if its kind has none.
	Digest string
	// Warnings say what of the source could not become a tool.
	Warnings []string
	// LoginSubject is whose login lists the tools of a source that wants one of each user.
	LoginSubject string
}

// Effect returns a tool's effect class: the owner's override, else the definition's.
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

// Definition is a version of a tool as its source described it. It never changes.
type Definition struct {
	// Tenant and Hash identify it.
	Tenant, Hash string
	// Name is the namespaced name, Source the source's name, OriginalName the source's own name for the tool.
	Name, Source, OriginalName string
	// Title and Description are for people and models.
	Title, Description string
	// Raw, InputSchema and OutputSchema are JSON, byte for byte.
	Raw, InputSchema, OutputSchema []byte
	// Effect is declared by the definition.
	Effect Effect
	// Tags and Deprecated are the source's.
	Tags       []string
	Deprecated bool
	// CreateTime is when it was first seen.
	CreateTime time.Time
}

// Tool is a present tool.
type Tool struct {
	// Tenant and Name identify it.
	Tenant, Name string
	// OriginalName is the source's own name.
	OriginalName string
	// DefinitionHash identifies its definition. DriftedHash identifies the one that its pinned source has now, empty if that is the same.
	DefinitionHash, DriftedHash string
	// Effect is its effect class, including the owner's override.
	Effect Effect
	// CreateTime is when the tool was first seen, UpdateTime when its definition last changed.
	CreateTime, UpdateTime time.Time
	// Source is its source.
	Source Source
	// Definition is set by Tools only, without Raw.
	Definition Definition
}

// Found is one tool found by a sync.
type Found struct {
	// OriginalName is unique in an inventory.
	OriginalName string
	// Title and Description are for people and models.
	Title, Description string
	// Raw, InputSchema and OutputSchema are JSON, byte for byte.
	Raw, InputSchema, OutputSchema []byte
	// Effect is declared by the definition.
	Effect Effect
	// Tags and Deprecated are the source's.
	Tags       []string
	Deprecated bool
}

// Inventory is the result of a sync.
type Inventory struct {
	// Unchanged means that the source's tools are those of its Digest; Tools is empty then.
	Unchanged bool
	// Digest identifies what the tools were made of; empty = unknown.
	Digest string
	// Warnings say what could not become a tool.
	Warnings []string
	// Tools in the source's order.
	Tools []Found
	// ServerVersion and ProtocolVersion are reported by the server.
	ServerVersion, ProtocolVersion string
	// Time is when the sync ended.
	Time time.Time
}

// Diff lists what an inventory changed, as sorted namespaced names.
type Diff struct {
	// Added, Removed and Changed are tools.
	Added, Removed, Changed []string
	// Drifted are tools whose definition changed and is held back.
	Drifted []string
	// Total is the present number of tools.
	Total int
}

// Execution is one row of the ledger.
type Execution struct {
	// Tenant and ID identify it; Key identifies the execution across repeated requests.
	Tenant, ID, Key string
	// Tool, Source (name) and DefinitionHash identify what was called.
	Tool, Source, DefinitionHash string
	// TurnID, SessionID and CallID are its origin; empty for a direct call.
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
	// DecisionID is the policy decision that allowed it. Decision is its record until policy has it; only Open and Undelivered use it.
	DecisionID string
	Decision   []byte
	// ApprovalID is the approval under which it ran, empty if none was needed.
	ApprovalID string
	// Resolution resolves its unknown outcome.
	Resolution Resolution
	// IsError and Code describe the result.
	IsError bool
	Code    string
	// Result is the encoded result of a finished row, the encoded question of a waiting one.
	Result []byte
	// Cache is CacheHit, CacheMiss or empty.
	Cache string
	// Arguments is the JSON text of the arguments; empty if that is too long. Only Insight reads it.
	Arguments string
	// Latency is the wall time.
	Latency time.Duration
	// Owner is the replica that runs it, until Lease.
	Owner string
	Lease time.Time
	// CreateTime and EndTime are its start and end.
	CreateTime, EndTime time.Time
}

// ExecutionFilter narrows the list of executions.
type ExecutionFilter struct {
	// Each selects executions with this value; empty = all.
	TurnID, SessionID, CallID, Tool, Source, State string
	// Errors selects executions that failed, returned an error or have an unknown outcome.
	Errors bool
	// From and Until select executions by their creation, from From until before Until; zero = no limit.
	From, Until time.Time
}

// Cursor is a position in the list of executions.
type Cursor struct {
	// Micros is the row's creation time.
	Micros int64 `json:"t"`
	// ID is its id.
	ID string `json:"i"`
}
