// Package turn accepts turns, queues them in their sessions, steers and cancels them, and ends them. It starts and wakes their
// workflows through the outbox, and recovers turns whose workflow was lost.
package turn

import (
	"context"
	"log/slog"
	"time"

	"go.opentelemetry.io/otel/metric"

	"github.com/windlass-dev/windlass/libs/metrics"
	"github.com/windlass-dev/windlass/libs/providerdata"
	"github.com/windlass-dev/windlass/libs/quota"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/sessions/access"
	"github.com/windlass-dev/windlass/services/sessions/agent"
	"github.com/windlass-dev/windlass/services/sessions/blueprint"
	"github.com/windlass-dev/windlass/services/sessions/budget"
	"github.com/windlass-dev/windlass/services/sessions/file"
	"github.com/windlass-dev/windlass/services/sessions/grant"
	"github.com/windlass-dev/windlass/services/sessions/idempotency"
	"github.com/windlass-dev/windlass/services/sessions/input"
	"github.com/windlass-dev/windlass/services/sessions/journal"
	"github.com/windlass-dev/windlass/services/sessions/limits"
	"github.com/windlass-dev/windlass/services/sessions/outbox"
	"github.com/windlass-dev/windlass/services/sessions/rerun"
	"github.com/windlass-dev/windlass/services/sessions/session"
	"github.com/windlass-dev/windlass/services/sessions/store"
	"github.com/windlass-dev/windlass/services/sessions/wait"
)

// Config bounds turns. All fields are required.
type Config struct {
	// MaxQueued is the maximum number of unfinished turns in one session; MaxInputs is the maximum number of inputs of a running turn.
	MaxQueued, MaxInputs int
	// StartDelay is the delay between a turn's eager run and the start of its workflow.
	StartDelay time.Duration
	// LostAfter is the idle time after which the workflow of a turn is checked; MaxRestarts is how often a lost workflow is restarted.
	LostAfter   time.Duration
	MaxRestarts int
	// Load bounds what the mesh takes on.
	Load LoadConfig
}

// Notifier is notified of the ends of turns.
type Notifier interface {
	// TurnEnded is called in the transaction that ends a turn, if there is a subscription to it; see store.Tx.EndTurn.
	TurnEnded(tx *journal.Tx, t store.Turn) error
}

// Webhooks checks the address that a turn is to notify.
type Webhooks interface {
	// CheckTurnAddress returns why an address cannot be notified of one turn. An empty address is none.
	CheckTurnAddress(ctx context.Context, tenant, address string) error
}

// Children notifies the turns around one that ends.
type Children interface {
	// AfterEnd is called in the transaction that ends a turn.
	AfterEnd(tx *journal.Tx, t store.Turn)
}

// Deps are what the service needs; all are required.
type Deps struct {
	Store      *store.Store
	Journal    *journal.Journal
	Access     access.Reader
	Keys       idempotency.Keys
	Input      input.Checker
	Limits     limits.Bounds
	Agents     *agent.Service
	Blueprints blueprint.Resolver
	Sessions   *session.Service
	Budgets    *budget.Service
	Waits      *wait.Service
	Reruns     *rerun.Service
	Webhooks   Webhooks
	Notifier   Notifier
	Children   Children
	Waker      outbox.Waker
	Engine     Engine
	// ProviderData seals the credentials of requests; nil refuses them.
	ProviderData *providerdata.Sealer
	// Grants lets turns act for their users; nil = they cannot.
	Grants *grant.Service
	// Quotas limits turns; the zero value does not.
	Quotas quota.Reader
	// Files are those that input may name.
	Files *file.Service
	Log   *slog.Logger
}

// Service manages turns. It is safe for concurrent use.
type Service struct {
	cfg  Config
	deps Deps
	// lost counts workflows that were lost.
	lost metric.Int64Counter
	load *load
}

// New returns a Service.
func New(cfg Config, deps Deps) *Service {
	s := &Service{
		cfg: cfg, deps: deps, lost: metrics.Process().Counter(metrics.WorkflowsLost), load: newLoad(cfg.Load, deps.Store),
	}
	s.lost.Add(context.Background(), 0) // what rises from nothing does not rise for Prometheus
	return s
}

// View is a turn with what it was given and what it belongs to.
type View struct {
	store.Turn
	Input store.TurnInput
	// Link is the place of a sub-agent's turn below its parent; the zero value for others.
	Link store.Child
}

// Read returns a turn of a tenant as it is now.
func (s *Service) Read(ctx context.Context, tenant, id string) (View, error) {
	t, err := s.deps.Store.Turn(ctx, tenant, id)
	if err != nil {
		return View{}, Fault(err, id)
	}
	return s.View(ctx, t)
}

// View completes a turn that was read.
func (s *Service) View(ctx context.Context, t store.Turn) (View, error) {
	in, err := s.deps.Access.Input(ctx, t)
	if err != nil {
		return View{}, err
	}
	return s.view(ctx, t, in)
}

// Views completes turns that were read.
func (s *Service) Views(ctx context.Context, tenant string, turns []store.Turn) ([]View, error) {
	names := make([]string, len(turns))
	for i, t := range turns {
		names[i] = t.ID
	}
	inputs, err := s.deps.Store.TurnInputs(ctx, tenant, names...)
	if err != nil {
		return nil, err
	}
	given := make(map[string]store.TurnInput, len(inputs))
	for _, in := range inputs {
		given[in.TurnID] = in
	}
	var out []View
	for _, t := range turns {
		v, err := s.view(ctx, t, given[t.ID])
		if err != nil {
			return nil, err
		}
		out = append(out, v)
	}
	return out, nil
}

// view reads the rest of a turn. Only a sub-agent's costs a query.
func (s *Service) view(ctx context.Context, t store.Turn, in store.TurnInput) (v View, err error) {
	v = View{Turn: t, Input: in}
	if t.AgentPath != "" {
		v.Link, err = s.deps.Store.Child(ctx, t.Tenant, t.ID)
	}
	return v, err
}

// earlier returns the turn that the same request made before, and whether there is one.
func (s *Service) earlier(ctx context.Context, once store.Once) (View, bool, error) {
	found, ok, err := s.deps.Keys.Earlier(ctx, once)
	if err != nil || !ok {
		return View{}, false, err
	}
	v, err := s.Read(ctx, once.Tenant, found.TurnID)
	return v, true, err
}

// Terminal reports whether a turn with a status has ended.
func Terminal(st turnv1.TurnStatus) bool {
	switch st {
	case turnv1.TurnStatus_TURN_STATUS_COMPLETED, turnv1.TurnStatus_TURN_STATUS_FAILED, turnv1.TurnStatus_TURN_STATUS_CANCELLED:
		return true
	}
	return false
}
