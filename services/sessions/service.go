// Package sessions keeps agents, sessions, messages, turns and the journal of events. It takes input, has turns run by workers, tells what
// happens in them, and gives workers the steps of a turn under a lease.
package sessions

import (
	"context"
	"errors"
	"log/slog"

	"google.golang.org/grpc"

	"github.com/windlass-dev/windlass/libs/bus"
	"github.com/windlass-dev/windlass/libs/config"
	"github.com/windlass-dev/windlass/libs/egress"
	"github.com/windlass-dev/windlass/libs/eventlog"
	"github.com/windlass-dev/windlass/libs/providerdata"
	"github.com/windlass-dev/windlass/libs/quota"
	"github.com/windlass-dev/windlass/libs/rpc"
	"github.com/windlass-dev/windlass/libs/sqldb"
	executionv1 "github.com/windlass-dev/windlass/proto/gen/windlass/execution/v1"
	registryv1 "github.com/windlass-dev/windlass/proto/gen/windlass/registry/v1"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	"github.com/windlass-dev/windlass/services/sessions/access"
	"github.com/windlass-dev/windlass/services/sessions/agent"
	"github.com/windlass-dev/windlass/services/sessions/api"
	"github.com/windlass-dev/windlass/services/sessions/bundle"
	"github.com/windlass-dev/windlass/services/sessions/child"
	"github.com/windlass-dev/windlass/services/sessions/erase"
	"github.com/windlass-dev/windlass/services/sessions/eventfeed"
	"github.com/windlass-dev/windlass/services/sessions/file"
	"github.com/windlass-dev/windlass/services/sessions/find"
	"github.com/windlass-dev/windlass/services/sessions/grant"
	"github.com/windlass-dev/windlass/services/sessions/outbox"
	"github.com/windlass-dev/windlass/services/sessions/rerun"
	"github.com/windlass-dev/windlass/services/sessions/schedule"
	"github.com/windlass-dev/windlass/services/sessions/session"
	"github.com/windlass-dev/windlass/services/sessions/share"
	"github.com/windlass-dev/windlass/services/sessions/store"
	"github.com/windlass-dev/windlass/services/sessions/turn"
	"github.com/windlass-dev/windlass/services/sessions/wait"
	"github.com/windlass-dev/windlass/services/sessions/watch"
	"github.com/windlass-dev/windlass/services/sessions/webhook"
	"github.com/windlass-dev/windlass/workflows/contract"
)

// Deps are what the service needs; all but Groups, Policies, Routes, Models, Chains, Tools and Prompts are required.
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
	// Policies keeps the access policies of bundles; without it they cannot hold any.
	Policies bundle.Policies
	// Routes keeps the routes of bundles; without it they cannot hold any.
	Routes bundle.Routes
	// Models knows which models there are; without it none is refused.
	Models rerun.ModelResolver
	// Chains chooses the models of turns; without it they are not explained.
	Chains agent.ChainResolver
	// Tools knows which tools there are; without it no agent is warned about.
	Tools bundle.ToolLister
	// Prompts shows what models were sent; without it that is not available.
	Prompts api.Prompts
	// Policy checks the approval rules of agents, says what those may do whose schedules fire, and keeps decisions.
	Policy interface {
		agent.ApprovalChecker
		access.PermissionReader
		erase.Decisions
	}
	// Ledger keeps the tool calls of turns.
	Ledger erase.Ledger
	// Events and PolicyEvents read the domain events of the registry and of policy.
	Events, PolicyEvents eventfeed.Source
	// Egress is how webhooks are reached.
	Egress *egress.Egress
	// Getenv reads the environment for the placeholders ${env.*} that the configuration allows.
	Getenv func(string) string
	// ProviderData seals the credentials of requests for their turns; without it they are refused.
	ProviderData *providerdata.Sealer
	// Grants keeps the grants of turns, and Issuers are the names of the issuers whose users turns can act for; without any, both may be left
	// out.
	Grants  grant.Policy
	Issuers []string
	// Quotas says which limits apply to users; the zero value limits nobody.
	Quotas quota.Reader
	// Log gets what went wrong.
	Log *slog.Logger
}

// Service serves windlass.sessions.v1 and windlass.execution.v1, and does their background work.
type Service struct {
	cfg       Config
	store     *store.Store
	hub       *watch.Hub
	bus       *bus.Bus
	outbox    *outbox.Outbox
	workers   *outbox.Workers
	sessions  *session.Service
	indexer   *find.Indexer
	shares    *share.Service
	turns     *turn.Service
	waits     *wait.Service
	children  *child.Service
	schedules *schedule.Service
	webhooks  *webhook.Service
	files     *file.Service
	eraser    *erase.Eraser
	grants    *grant.Service
	events    *eventlog.Log
	feed      *eventfeed.Feed
	servers   servers
	log       *slog.Logger
}

// servers implement the gRPC services.
type servers struct {
	agents    *api.Agents
	sessions  *api.Sessions
	turns     *api.Turns
	approvals *api.Approvals
	budgets   *api.Budgets
	artifacts *api.Artifacts
	files     *api.Files
	webhooks  *api.Webhooks
	schedules *api.Schedules
	analytics *api.Analytics
	execution *api.Execution
	shares    *api.Shares
	events    *api.Events
}

// New checks the configuration, brings the tables up to date and makes the service. It answers calls at once; Run does its
// background work.
func New(cfg Config, deps Deps) (*Service, error) {
	config.Fill(&cfg)
	if err := cfg.check(); err != nil {
		return nil, err
	}
	switch {
	case deps.DB == nil, deps.Bus == nil, deps.Dispatcher == nil, deps.Registry == nil, deps.Policy == nil, deps.Ledger == nil,
		deps.Events == nil, deps.PolicyEvents == nil, deps.Egress == nil,
		deps.Getenv == nil, deps.Log == nil:
		return nil, errors.New("sessions needs DB, Bus, Dispatcher, Registry, Policy, Ledger, Events, PolicyEvents, Egress, Getenv and Log")
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
	validator, err := rpc.Validator()
	if err != nil {
		return nil, err
	}
	s := &Service{cfg: cfg, store: st, hub: hub, bus: deps.Bus, log: deps.Log}
	if err := s.openEvents(deps); err != nil {
		return nil, err
	}
	p := newParts(s, deps)
	if err := p.makeTurns(); err != nil {
		return nil, err
	}
	return s, p.serve(validator)
}

// openEvents makes the log of domain events, and the feed that merges it with those of other services.
func (s *Service) openEvents(deps Deps) (err error) {
	s.events, err = eventlog.NewLog(eventlog.Config{
		Source: store.EventSource, Retention: s.cfg.EventRetention, Interval: s.cfg.SweepInterval,
		Subject: func(tenant string) string { return contract.DomainEventSubject(tenant, "sessions") },
	}, s.store.DomainEvents(), deps.Bus, deps.Log)
	if err == nil {
		s.feed, err = eventfeed.New(eventfeed.Config{Poll: s.cfg.PollActive, PollAway: s.cfg.PollAway}, s.events, deps.Events, deps.PolicyEvents,
			deps.Bus, deps.Log)
	}
	return err
}

// Register adds the services to a server.
func (s *Service) Register(r grpc.ServiceRegistrar) {
	sessionsv1.RegisterAgentServiceServer(r, s.servers.agents)
	sessionsv1.RegisterSessionServiceServer(r, s.servers.sessions)
	sessionsv1.RegisterShareServiceServer(r, s.servers.shares)
	sessionsv1.RegisterTurnServiceServer(r, s.servers.turns)
	sessionsv1.RegisterBudgetServiceServer(r, s.servers.budgets)
	sessionsv1.RegisterApprovalServiceServer(r, s.servers.approvals)
	sessionsv1.RegisterArtifactServiceServer(r, s.servers.artifacts)
	sessionsv1.RegisterFileServiceServer(r, s.servers.files)
	sessionsv1.RegisterWebhookServiceServer(r, s.servers.webhooks)
	sessionsv1.RegisterScheduleServiceServer(r, s.servers.schedules)
	sessionsv1.RegisterSessionAnalyticsServiceServer(r, s.servers.analytics)
	sessionsv1.RegisterEventServiceServer(r, s.servers.events)
	executionv1.RegisterExecutionServiceServer(r, s.servers.execution)
}

// Run starts workflows, delivers to webhooks, recovers lost turns and keeps the bus's delta stream until ctx ends; then it
// disconnects the watchers, waits for calls under way and returns nil.
func (s *Service) Run(ctx context.Context) error {
	defer s.hub.Stop()
	stop, err := s.measure()
	if err != nil {
		return err
	}
	defer stop()
	unlink := context.AfterFunc(ctx, s.feed.Stop)
	defer unlink()
	return s.sweep(ctx)
}
