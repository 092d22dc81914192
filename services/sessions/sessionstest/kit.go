package sessionstest

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/windlass-dev/windlass/libs/providerdata"
	"github.com/windlass-dev/windlass/libs/secret"
	"github.com/windlass-dev/windlass/libs/sqldb"
	"github.com/windlass-dev/windlass/libs/testdb"
	"github.com/windlass-dev/windlass/services/sessions/access"
	"github.com/windlass-dev/windlass/services/sessions/agent"
	"github.com/windlass-dev/windlass/services/sessions/approval"
	"github.com/windlass-dev/windlass/services/sessions/blueprint"
	"github.com/windlass-dev/windlass/services/sessions/budget"
	"github.com/windlass-dev/windlass/services/sessions/child"
	"github.com/windlass-dev/windlass/services/sessions/conversation"
	"github.com/windlass-dev/windlass/services/sessions/grant"
	"github.com/windlass-dev/windlass/services/sessions/idempotency"
	"github.com/windlass-dev/windlass/services/sessions/input"
	"github.com/windlass-dev/windlass/services/sessions/journal"
	"github.com/windlass-dev/windlass/services/sessions/limits"
	"github.com/windlass-dev/windlass/services/sessions/outbox"
	"github.com/windlass-dev/windlass/services/sessions/rerun"
	"github.com/windlass-dev/windlass/services/sessions/session"
	"github.com/windlass-dev/windlass/services/sessions/step"
	"github.com/windlass-dev/windlass/services/sessions/store"
	"github.com/windlass-dev/windlass/services/sessions/turn"
	"github.com/windlass-dev/windlass/services/sessions/wait"
)

// Config are the settings that tests change; zero fields take defaults.
type Config struct {
	MaxQueued, MaxInputs, MaxInputBytes, MaxCopyBytes, MaxRestarts int
	OfferResults                                                   time.Duration
	Waits                                                          wait.Times
	Models                                                         rerun.ModelResolver
	// Grants makes what keeps the grants of turns; nil = they have none.
	Grants func(*store.Store) *grant.Service
}

func (c Config) grants(s *store.Store) *grant.Service {
	if c.Grants == nil {
		return nil
	}
	return c.Grants(s)
}

// What Config stands for where a field is zero.
const (
	defaultQueued     = 100
	defaultInputs     = 100
	defaultInputBytes = 1 << 20
	defaultCopyBytes  = 1 << 20
	defaultRestarts   = 3
	outputTokens      = 300
	// LostAfter is the idle time after which the workflow of a turn is checked; MaxLease bounds leases; Age is how long keys are remembered.
	LostAfter = time.Minute
	MaxLease  = time.Minute
	Age       = time.Hour
)

// Kit is the services of the sessions service over one store, without its API.
type Kit struct {
	testing.TB

	DB       *sqldb.DB
	Sealer   *providerdata.Sealer
	Clock    *Clock
	Engine   *Engine
	Bus      *Bus
	Notifier *Notifier
	Store    *store.Store
	Journal  *journal.Journal
	Access   access.Reader
	Keys     idempotency.Keys
	Input    input.Checker
	Limits   limits.Bounds

	Agents        *agent.Service
	Conversations *conversation.Service
	Sessions      *session.Service
	Reruns        *rerun.Service
	Budgets       *budget.Service
	Outbox        *outbox.Outbox
	Workers       *outbox.Workers
	Waits         *wait.Service
	Turns         *turn.Service
	Children      *child.Service
	Steps         *step.Service
	Approvals     *approval.Service
}

// tables are copied for each test.
var tables = testdb.New("sessions", func(ctx context.Context, db *sqldb.DB) error {
	_, err := store.Open(ctx, db)
	return err
})

// New returns the services over an empty database in a temporary file.
func New(t testing.TB, cfg Config) *Kit {
	t.Helper()
	k := &Kit{TB: t, Clock: NewClock(), Engine: NewEngine(), Bus: &Bus{}, Notifier: &Notifier{}}
	db, err := sqldb.Open(t.Context(), sqldb.Config{URL: tables.SQLite(t), Schema: "sessions", Now: k.Clock.Now})
	k.Must(err)
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	k.DB = db
	k.Sealer, err = providerdata.NewSealer(secret.New(strings.Repeat("k", 32)))
	k.Must(err)
	k.Store, err = store.Open(t.Context(), db)
	k.Must(err)
	k.makeReaders(cfg)
	k.makeTurns(cfg)
	return k
}

// makeReaders makes what does not need turns.
func (k *Kit) makeReaders(cfg Config) {
	log, blueprints := slog.New(slog.DiscardHandler), blueprints()
	k.Journal, k.Access, k.Keys = journal.New(k.Store, k.Bus, log), access.NewReader(k.Store), idempotency.New(k.Store, Age)
	k.Input = input.Checker{MaxBytes: or(cfg.MaxInputBytes, defaultInputBytes)}
	k.Limits = limits.Bounds{
		Default: limits.Limits{MaxSteps: 25, MaxParallelTools: 16, MaxIdenticalCalls: 3, TurnSeconds: 1800}, Max: limits.Limits{MaxSteps: 200},
	}
	k.Conversations = conversation.New(conversation.Config{MaxCopyBytes: or(cfg.MaxCopyBytes, defaultCopyBytes)}, k.Store)
	k.Agents = agent.New(agent.Deps{Store: k.Store, Approvals: rules{}, Blueprints: blueprints.Checker, CheckLimits: k.Limits.CheckAgent})
	k.Sessions = session.New(session.Deps{
		Store: k.Store, Journal: k.Journal, Access: k.Access, Agents: k.Agents, Blueprints: blueprints, Conversations: k.Conversations,
		Keys: k.Keys,
		Bus:  k.Bus, Erase: func() {}, Log: log,
	})
	k.Reruns = rerun.New(rerun.Deps{
		Store: k.Store, Access: k.Access, Sessions: k.Sessions, Agents: k.Agents, Conversations: k.Conversations, Models: cfg.Models,
		MaxBytes: or(cfg.MaxCopyBytes, defaultCopyBytes), Log: log,
	})
	k.Budgets = budget.New(budget.Deps{
		Store: k.Store, Prompts: k.Conversations, CheckSession: k.Access.CheckSession, OutputTokens: outputTokens,
		CheckAgent: func(ctx context.Context, id string) error { _, err := k.Agents.Get(ctx, id, 0); return err },
	})
	k.Outbox = outbox.New(outbox.Config{Interval: time.Second, MaxStarting: 4}, k.Store, k.Engine, log)
	k.Workers = outbox.NewWorkers(k.Store, k.Bus, time.Second, log)
}

// makeTurns makes turns, and those that start or watch them.
func (k *Kit) makeTurns(cfg Config) {
	log, waker, around := slog.New(slog.DiscardHandler), outbox.Waker{Outbox: k.Outbox, Workers: k.Workers}, &around{}
	k.Waits = wait.New(wait.Deps{Store: k.Store, Journal: k.Journal, Times: cfg.Waits, Notifier: k.Notifier, Waker: waker, Log: log})
	k.Turns = turn.New(turn.Config{
		MaxQueued: or(cfg.MaxQueued, defaultQueued), MaxInputs: or(cfg.MaxInputs, defaultInputs), LostAfter: LostAfter,
		MaxRestarts: or(cfg.MaxRestarts, defaultRestarts),
	}, turn.Deps{
		Store: k.Store, Journal: k.Journal, Access: k.Access, Keys: k.Keys, Input: k.Input, Limits: k.Limits, Agents: k.Agents,
		Blueprints: blueprints(),
		Sessions:   k.Sessions, Budgets: k.Budgets, Waits: k.Waits, Reruns: k.Reruns, Webhooks: k.Notifier, Notifier: k.Notifier,
		Children: around,
		Waker:    waker, Engine: k.Engine, ProviderData: k.Sealer, Grants: cfg.grants(k.Store), Log: log,
	})
	k.Children = child.New(child.Deps{
		Store: k.Store, Journal: k.Journal, Access: k.Access, Agents: k.Agents, Sessions: k.Sessions, Turns: k.Turns, Waits: k.Waits,
		Input:        k.Input,
		OfferResults: or(cfg.OfferResults, time.Hour), Log: log,
	})
	around.children = k.Children
	k.Steps = step.New(step.Deps{
		Store: k.Store, Journal: k.Journal, Access: k.Access, Agents: k.Agents, Blueprints: blueprints(), Limits: k.Limits,
		Conversations: k.Conversations,
		Budgets:       k.Budgets, Waits: k.Waits, Turns: k.Turns, Children: k.Children, Outbox: k.Outbox, MaxLease: MaxLease,
	})
	k.Approvals = approval.New(approval.Deps{Store: k.Store, Access: k.Access, Waits: k.Waits, Input: k.Input})
}

func blueprints() blueprint.Resolver {
	return blueprint.Resolver{Getenv: func(string) string { return "" }}
}

// around is what turns call of the children, which are made after them.
type around struct{ children *child.Service }

// AfterEnd implements turn.Children.
func (a *around) AfterEnd(tx *journal.Tx, t store.Turn) { a.children.AfterEnd(tx, t) }

func or[T comparable](v, def T) T {
	var zero T
	if v == zero {
		return def
	}
	return v
}
