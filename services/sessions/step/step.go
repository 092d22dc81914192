// Package step is how workers run the steps of a turn: they claim a step under a lease, and commit its outcome with the lease's
// fence. A step that is done is adopted, so that any worker can claim any step at any time, and each is committed once.
package step

import (
	"time"

	"github.com/windlass-dev/windlass/libs/metrics"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/sessions/access"
	"github.com/windlass-dev/windlass/services/sessions/agent"
	"github.com/windlass-dev/windlass/services/sessions/artifact"
	"github.com/windlass-dev/windlass/services/sessions/blueprint"
	"github.com/windlass-dev/windlass/services/sessions/budget"
	"github.com/windlass-dev/windlass/services/sessions/conversation"
	"github.com/windlass-dev/windlass/services/sessions/journal"
	"github.com/windlass-dev/windlass/services/sessions/limits"
	"github.com/windlass-dev/windlass/services/sessions/outbox"
	"github.com/windlass-dev/windlass/services/sessions/store"
	"github.com/windlass-dev/windlass/services/sessions/turn"
	"github.com/windlass-dev/windlass/services/sessions/wait"
)

// Children joins a turn with the turns of its sub-agents.
type Children interface {
	// Join answers a wait for a child that has begun just now, if the child is over already.
	Join(tx *journal.Tx, parent *store.Turn, waitID string) error
}

// Deps are what the service needs; all are required.
type Deps struct {
	Store         *store.Store
	Journal       *journal.Journal
	Access        access.Reader
	Agents        *agent.Service
	Blueprints    blueprint.Resolver
	Limits        limits.Bounds
	Conversations *conversation.Service
	Budgets       *budget.Service
	Waits         *wait.Service
	Turns         *turn.Service
	Children      Children
	Outbox        *outbox.Outbox
	// MaxLease bounds the lease of a step.
	MaxLease time.Duration
}

// Service runs steps. It is safe for concurrent use.
type Service struct {
	deps  Deps
	meter meter
}

// New returns a Service.
func New(deps Deps) *Service { return &Service{deps: deps, meter: newMeter(metrics.Process())} }

// Claim is a request for the lease of a step.
type Claim struct {
	TurnID string
	Step   *turnv1.StepRef
	// Owner is the worker's ID.
	Owner string
	// TTL is how long the lease lasts unless it is renewed.
	TTL time.Duration
	// Model is what an infer step calls; ToolCall is what a tool step tells of its call.
	Model    string
	ToolCall *turnv1.ToolCallStarted
}

// Claimed is the result of a claim: one of Done, Lease and Busy.
type Claimed struct {
	// Done is the outcome of a step that is done.
	Done *turnv1.StepOutcome
	// Lease says that the caller holds the step.
	Lease *Lease
	// Busy says why the step cannot be claimed now.
	Busy            *Busy
	CancelRequested bool
}

// Lease is the exclusive right to run a step until it expires.
type Lease struct {
	// Fence increases with each claim of the step.
	Fence, Attempt uint32
	// BaseSeq is the seq of the newest event that the claim wrote. Deltas refer to it.
	BaseSeq uint32
	// MessageID is reserved for what an infer step writes.
	MessageID string
	// MaxOutputTokens is what a model step under a limit may write, 0 = the agent's setting.
	MaxOutputTokens int32
	// ProviderData are the credentials of the turn's request, sealed for the turn; nil for none.
	ProviderData []byte
	// ModelAttempts are the attempts of the step's model calls that earlier holders have reported.
	ModelAttempts []*turnv1.ModelAttempt
}

// Busy says why a step cannot be claimed now.
type Busy struct {
	// Owner holds it, "" while it backs off or waits for a budget.
	Owner string
	// ExpiresIn is after what time the next claim can succeed.
	ExpiresIn time.Duration
	// BudgetID is the budget that it waits for, "" for none.
	BudgetID string
}

// Commit is the outcome of a step with all that is written with it.
type Commit struct {
	TurnID  string
	Fence   uint32
	Outcome *turnv1.StepOutcome
	// Events and Messages are appended before step.finished. A message without an event among Events gets one.
	Events   []*turnv1.Event
	Messages []*turnv1.Message
	// Artifacts are stored first, each with its event.
	Artifacts []artifact.New
	// Tools and Agents are what a begin step pins.
	Tools  []*store.PinnedTool
	Agents []*store.AgentTool
	// Duration is the duration of the attempt.
	Duration time.Duration
	// Ending ends the turn, in its finish step. Inputs is the number of inputs of the running turn that it takes into account.
	Ending *turnv1.Ending
	Inputs uint32
	// Wait is what a tool step ends with.
	Wait *store.WaitRequest
	// Claim claims the step first, instead of Fence. Next are claimed afterwards; Then is the turn's finish step, committed afterwards.
	Claim *Claim
	Next  []Claim
	Then  *Commit
}

// Committed is the result of a commit.
type Committed struct {
	// Outcome is the stored outcome, nil with Busy.
	Outcome *turnv1.StepOutcome
	// NextTurnID is the session's next turn, after a finish step.
	NextTurnID string
	// Adopted: the step to claim was done already. Busy: it is held by a worker. Nothing was written then.
	Adopted bool
	Busy    *Busy
	// Next and Then are the results of the commit's.
	Next []Claimed
	Then *Committed
	// Inputs are the outcomes of all inputs of the running turn.
	Inputs []*turnv1.StepOutcome
	// Stale: the finish step was not written, since it did not take all inputs into account.
	Stale bool
}
