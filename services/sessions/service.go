// Package sessions keeps agents, sessions, messages, turns and the journal of events. It takes input, has turns run by workers, tells what
// happens in them, and gives workers the steps of a turn under a lease.
package sessions

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"buf.build/go/protovalidate"
	"google.golang.org/grpc"

	"github.com/windlass-dev/windlass/libs/bus"
	"github.com/windlass-dev/windlass/libs/egress"
	"github.com/windlass-dev/windlass/libs/sqldb"
	executionv1 "github.com/windlass-dev/windlass/proto/gen/windlass/execution/v1"
	registryv1 "github.com/windlass-dev/windlass/proto/gen/windlass/registry/v1"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	"github.com/windlass-dev/windlass/services/sessions/access"
	"github.com/windlass-dev/windlass/services/sessions/agent"
	"github.com/windlass-dev/windlass/services/sessions/api"
	"github.com/windlass-dev/windlass/services/sessions/artifact"
	"github.com/windlass-dev/windlass/services/sessions/blueprint"
	"github.com/windlass-dev/windlass/services/sessions/budget"
	"github.com/windlass-dev/windlass/services/sessions/bundle"
	"github.com/windlass-dev/windlass/services/sessions/conversation"
	"github.com/windlass-dev/windlass/services/sessions/erase"
	"github.com/windlass-dev/windlass/services/sessions/idempotency"
	"github.com/windlass-dev/windlass/services/sessions/journal"
	"github.com/windlass-dev/windlass/services/sessions/outbox"
	"github.com/windlass-dev/windlass/services/sessions/rerun"
	"github.com/windlass-dev/windlass/services/sessions/schedule"
	"github.com/windlass-dev/windlass/services/sessions/session"
	"github.com/windlass-dev/windlass/services/sessions/store"
	"github.com/windlass-dev/windlass/services/sessions/watch"
	"github.com/windlass-dev/windlass/services/sessions/webhook"
)

// Deps are what the service needs; all but Groups and Models are required.
type Deps struct {
	// DB is the service's database. It stays its owner's to close.
	DB *sqldb.DB
	// Bus tells events and keeps deltas.
	Bus *bus.Bus
	// Dispatcher has turns run.
	Dispatcher Dispatcher
	// Registry keeps the sources of bundles.
	Registry registryv1.SourceServiceClient
	// Groups knows the tool groups that agents may name; without it they cannot name any.
	Groups registryv1.ToolGroupServiceClient
	// Models knows which models there are; without it none is refused.
	Models ModelResolver
	// Policy checks the approval rules of agents, says what those may do whose schedules fire, and keeps decisions.
	Policy interface {
		agent.ApprovalChecker
		access.PermissionReader
		erase.Decisions
	}
	// Ledger keeps the tool calls of turns.
	Ledger erase.Ledger
	// Egress is how webhooks are reached.
	Egress *egress.Egress
	// Getenv reads the environment for the placeholders ${env.*} that the configuration allows.
	Getenv func(string) string
	// Log gets what went wrong.
	Log *slog.Logger
}

// Service implements the services of windlass.sessions.v1.
type Service struct {
	sessionsv1.UnimplementedTurnServiceServer
	executionv1.UnimplementedExecutionServiceServer
	sessionsv1.UnimplementedApprovalServiceServer

	cfg           Config
	store         *store.Store
	journal       *journal.Journal
	hub           *watch.Hub
	bus           *bus.Bus
	engine        Dispatcher
	outbox        *outbox.Outbox
	workers       *outbox.Workers
	webhooks      *webhook.Service
	eraser        *erase.Eraser
	conversations *conversation.Service
	access        access.Reader
	keys          idempotency.Keys
	sessions      *session.Service
	budgets       *budget.Service
	schedules     *schedule.Service
	bundles       *bundle.Service
	models        ModelResolver
	agents        *agent.Service
	reruns        *rerun.Service
	blueprints    blueprint.Resolver
	validator     protovalidate.Validator
	log           *slog.Logger
}

// New checks the configuration, brings the tables up to date and makes the service. It answers calls at once; Run does its
// background work.
func New(cfg Config, deps Deps) (*Service, error) {
	cfg, err := cfg.complete()
	if err != nil {
		return nil, err
	}
	switch {
	case deps.DB == nil, deps.Bus == nil, deps.Dispatcher == nil, deps.Registry == nil, deps.Policy == nil, deps.Ledger == nil, deps.Egress == nil,
		deps.Getenv == nil, deps.Log == nil:
		return nil, errors.New("sessions needs DB, Bus, Dispatcher, Registry, Policy, Ledger, Egress, Getenv and Log")
	}
	st, err := store.Open(context.Background(), deps.DB)
	if err != nil {
		return nil, err
	}
	hub, err := watch.New(watch.Config{
		Buffer: cfg.WatchBuffer, BusBuffer: cfg.BusBuffer,
		PollActive: cfg.PollActive, PollIdle: cfg.PollIdle, PollAway: cfg.PollAway,
	}, st, deps.Bus, deps.Log)
	if err != nil {
		return nil, err
	}
	validator, err := protovalidate.New()
	if err != nil {
		return nil, fmt.Errorf("build validator: %w", err)
	}
	s := &Service{
		cfg: cfg, store: st, journal: journal.New(st, deps.Bus, deps.Log), hub: hub, bus: deps.Bus,
		models: deps.Models, validator: validator,
		blueprints: blueprint.Resolver{Checker: blueprint.Checker{Env: cfg.PlaceholderEnv}, Getenv: deps.Getenv}, log: deps.Log,
		access: access.NewReader(st), keys: idempotency.New(st, cfg.IdempotencyAge), engine: deps.Dispatcher,
	}
	return s, s.build(deps)
}

// build makes the parts of the service, each with those that it uses.
func (s *Service) build(deps Deps) (err error) {
	cfg, st := s.cfg, s.store
	s.agents = agent.New(agent.Deps{
		Store: st, Approvals: deps.Policy, Groups: deps.Groups, Blueprints: s.blueprints.Checker, CheckLimits: s.checkAgentLimits,
	})
	s.outbox = outbox.New(outbox.Config{Interval: cfg.SweepInterval, MaxOpen: cfg.MaxOpenWorkflows, MaxStarting: cfg.MaxStarting}, st, deps.Dispatcher, deps.Log)
	s.workers = outbox.NewWorkers(st, deps.Bus, cfg.SweepInterval, deps.Log)
	s.eraser = erase.New(erase.Eraser{
		Store: st, Ledger: deps.Ledger, Decisions: deps.Policy, Histories: deps.Dispatcher, Log: deps.Log, Every: cfg.SweepInterval, Now: st.NowUs,
	})
	s.conversations = conversation.New(conversation.Config{MaxCopyBytes: cfg.MaxForkBytes}, st)
	s.sessions = session.New(session.Deps{
		Store: st, Journal: s.journal, Access: s.access, Agents: s.agents, Blueprints: s.blueprints, Conversations: s.conversations, Keys: s.keys,
		Bus: deps.Bus, Erase: s.eraser.Wake, Log: deps.Log,
	})
	s.reruns = rerun.New(rerun.Deps{
		Store: st, Turns: rerunTurns{s}, Agents: s.agents, Conversations: s.conversations, MaxBytes: cfg.MaxForkBytes,
	})
	s.budgets = budget.New(budget.Deps{Store: st, Prompts: s.conversations, CheckSession: s.access.CheckSession, OutputTokens: int64(cfg.ReserveOutputTokens)})
	s.schedules = schedule.New(cfg.Schedules, schedule.Deps{
		Store: st, Turns: scheduledTurns{s}, Calendars: deps.Dispatcher, Policy: deps.Policy, PollInterval: cfg.SweepInterval, Log: deps.Log,
	})
	s.webhooks, err = webhook.New(cfg.Webhooks, webhook.Deps{
		Store: st, Egress: deps.Egress, SealKey: cfg.SealKey, OldSealKeys: cfg.OldSealKeys, PollInterval: cfg.SweepInterval, Log: deps.Log,
	})
	if err != nil {
		return err
	}
	s.bundles, err = bundle.New(bundle.Deps{
		Store: st, Agents: s.agents, Schedules: s.schedules, Webhooks: s.webhooks, Sources: deps.Registry, Policy: deps.Policy,
		CheckParams: s.checkParams,
	})
	return err
}

// Register adds the services to a server.
func (s *Service) Register(r grpc.ServiceRegistrar) {
	sessionsv1.RegisterAgentServiceServer(r, api.NewAgents(s.agents, s.bundles, s.validator))
	sessionsv1.RegisterSessionServiceServer(r, api.NewSessions(s.sessions, s.conversations, s.withInputs, s.cfg.MaxExportBytes))
	sessionsv1.RegisterTurnServiceServer(r, s)
	sessionsv1.RegisterBudgetServiceServer(r, api.NewBudgets(s.budgets))
	executionv1.RegisterExecutionServiceServer(r, s)
	sessionsv1.RegisterApprovalServiceServer(r, s)
	sessionsv1.RegisterArtifactServiceServer(r, api.NewArtifacts(artifact.NewService(s.store, s.access)))
	sessionsv1.RegisterWebhookServiceServer(r, api.NewWebhooks(s.webhooks))
	sessionsv1.RegisterScheduleServiceServer(r, api.NewSchedules(s.schedules, s.store.Now))
}

// Run starts workflows, delivers to webhooks, recovers lost turns and keeps the bus's delta stream until ctx ends; then it disconnects the watchers, waits for
// calls under way and returns nil.
func (s *Service) Run(ctx context.Context) error {
	defer s.hub.Stop()
	return s.sweep(ctx)
}
