// Package registry owns tool sources, the tools found in them, and the ledger of every tool execution.
package registry

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc"

	"github.com/windlass-dev/windlass/libs/bus"
	"github.com/windlass-dev/windlass/libs/config"
	"github.com/windlass-dev/windlass/libs/credential"
	"github.com/windlass-dev/windlass/libs/envref"
	"github.com/windlass-dev/windlass/libs/eventlog"
	"github.com/windlass-dev/windlass/libs/metrics"
	"github.com/windlass-dev/windlass/libs/providerdata"
	"github.com/windlass-dev/windlass/libs/quota"
	"github.com/windlass-dev/windlass/libs/schema"
	"github.com/windlass-dev/windlass/libs/sealedresult"
	"github.com/windlass-dev/windlass/libs/sqldb"
	"github.com/windlass-dev/windlass/libs/telemetry"
	mcpbridgev1 "github.com/windlass-dev/windlass/proto/gen/windlass/mcpbridge/v1"
	policyv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policy/v1"
	"github.com/windlass-dev/windlass/services/registry/agents"
	"github.com/windlass-dev/windlass/services/registry/api"
	"github.com/windlass-dev/windlass/services/registry/builtin"
	"github.com/windlass-dev/windlass/services/registry/cache"
	"github.com/windlass-dev/windlass/services/registry/execute"
	"github.com/windlass-dev/windlass/services/registry/inventory"
	"github.com/windlass-dev/windlass/services/registry/kinds"
	"github.com/windlass-dev/windlass/services/registry/login"
	"github.com/windlass-dev/windlass/services/registry/membership"
	"github.com/windlass-dev/windlass/services/registry/origin"
	"github.com/windlass-dev/windlass/services/registry/source"
	"github.com/windlass-dev/windlass/services/registry/store"
	"github.com/windlass-dev/windlass/services/registry/upstream"
	"github.com/windlass-dev/windlass/workflows/contract"
)

// schemasKept limits the compiled schemas in memory.
const schemasKept = 4096

// Deps holds the service's dependencies; all fields but ProviderData are required. The clients call as the registry's own role.
type Deps struct {
	// DB is the service's own database. New migrates it; its owner closes it.
	DB *sqldb.DB
	// Policy decides who may use which tool.
	Policy policyv1.PolicyServiceClient
	// Bridge calls MCP servers.
	Bridge mcpbridgev1.BridgeServiceClient
	// Egress sends requests to HTTP APIs.
	Egress source.Dialer
	// ProviderData opens the credentials of requests; nil, which is allowed, refuses them.
	ProviderData *providerdata.Sealer
	// Vault has stored secrets; nil, which is allowed, refuses references to them.
	Vault envref.Vault
	// Logins has the tokens of users, for sources that want a login of each user; nil, which is allowed, refuses those.
	Logins login.Tokens
	// Grants gets tokens of users from their issuer; nil, which is allowed, refuses sources with the auth kind exchange.
	Grants upstream.Grants
	// Quotas says which limits apply to users, and Count counts their tool calls; the zero values, which are allowed, limit nobody.
	Quotas quota.Reader
	Count  execute.CallCounter
	// Bus is where the cache keeps results and domain events are published. It is required unless the cache is disabled.
	Bus *bus.Bus
	// AgentCalls calls agents, for the principal in the call's context.
	AgentCalls agents.Client
	// Artifacts is used by one of the mesh's own tools, for the principal in the call's context.
	Artifacts builtin.Artifacts
	// Facts remembers facts about users, for one of the mesh's own tools; nil, which is allowed, leaves that tool out.
	Facts builtin.Facts
	// Knowledge has the documents that the mesh's own tools read, for the principal in the call's context. The zero value, which is allowed,
	// has no documents and none of those tools.
	Knowledge builtin.Knowledge
	// Sessions and Agents are read for the principals of calls.
	Sessions origin.Sessions
	Agents   origin.Agents
	// Results seals results that shields check, and those that the cache keeps on the bus; nil, which is allowed, keeps none of those.
	Results *sealedresult.Sealer
	// Log receives internal errors.
	Log *slog.Logger
}

// Service serves windlass.registry.v1 and does its background work. It is safe for concurrent use.
type Service struct {
	cfg      Config
	store    store.Store
	now      func() time.Time // the database's
	policy   policyv1.PolicyServiceClient
	upstream *upstream.Upstream
	syncer   *inventory.Syncer
	cache    *cache.Cache // nil: disabled
	executor *execute.Executor
	metrics  *execute.Metrics
	origins  *origin.Reader
	events   *eventlog.Log
	log      *slog.Logger
}

// New validates configuration and dependencies, migrates the database and returns the service. It can serve calls at once; Run does its
// background work.
func New(cfg Config, deps Deps) (*Service, error) {
	if deps.DB == nil || deps.Policy == nil || deps.Bridge == nil || deps.Egress == nil || deps.Artifacts == nil || deps.Sessions == nil ||
		deps.Agents == nil || !deps.AgentCalls.Complete() || deps.Log == nil {
		return nil, errors.New("registry needs DB, Policy, Bridge, Egress, Artifacts, Sessions, Agents, AgentCalls and Log")
	}
	config.Fill(&cfg)
	if err := cfg.check(); err != nil {
		return nil, err
	}
	if err := store.Migrate(context.Background(), deps.DB); err != nil {
		return nil, fmt.Errorf("registry: %w", err)
	}
	meter := metrics.Process()
	measured, err := execute.NewMetrics(meter)
	if err != nil {
		return nil, fmt.Errorf("registry: %w", err)
	}
	schemas, err := schema.NewCache(schemasKept, deps.Log)
	if err != nil {
		return nil, fmt.Errorf("registry: %w", err)
	}
	s := &Service{cfg: cfg, store: store.New(deps.DB), now: deps.DB.Now, metrics: measured, log: deps.Log}
	if s.policy, err = membership.New(deps.Policy, s.store); err != nil {
		return nil, fmt.Errorf("registry: %w", err)
	}
	s.origins = origin.New(deps.Sessions, deps.Agents)
	if s.events, err = openLog(cfg, s.store, deps); err != nil {
		return nil, fmt.Errorf("registry: %w", err)
	}
	s.upstream = upstream.New(upstream.Config{
		BreakerFailures: cfg.BreakerFailures, BreakerPause: cfg.BreakerPause, RestartPatience: cfg.RestartPatience,
		MaxCalls: cfg.MaxCalls, QueueTimeout: cfg.QueueTimeout,
	}, upstream.Deps{Kinds: openKinds(cfg, s.store, deps), Logins: deps.Logins, Grants: deps.Grants, Log: deps.Log})
	s.syncer = inventory.New(inventory.Config{Every: cfg.SyncEvery, FirstRetry: cfg.SyncRetry}, s.store, s.upstream, measured.Available,
		deps.DB.Now, deps.Log)
	if s.cache, err = cfg.Cache.open(deps, meter); err != nil {
		return nil, fmt.Errorf("registry: %w", err)
	}
	s.executor = execute.New(execute.Config{
		LeaseTTL: cfg.LeaseTTL, CacheTTL: cfg.Cache.TTL, MaxResultBytes: cfg.MaxResultBytes, DrainTimeout: cfg.DrainTimeout,
		RetryPause: cfg.CallRetry, RestartPatience: cfg.RestartPatience,
	}, execute.Deps{
		Store: s.store, Now: deps.DB.Now, Policy: s.policy, Upstream: s.upstream, Schemas: schemas, Cache: s.cache,
		Metrics: measured, Results: deps.Results, Log: deps.Log, Unavailable: s.syncer.Soon, Origins: s.origins,
		Quotas: deps.Quotas, Count: deps.Count,
	})
	return s, nil
}

// openKinds returns what the kinds of sources need.
func openKinds(cfg Config, st store.Store, deps Deps) kinds.Deps {
	env := &source.Env{
		Limits: source.Limits{
			DiscoverTimeout: cfg.DiscoverTimeout, DefaultTimeout: cfg.CallTimeout, MaxResponseBytes: cfg.MaxResultBytes,
			MaxDocumentBytes: cfg.OpenAPI.MaxBytes, MaxOperations: cfg.OpenAPI.MaxOperations,
		},
		Egress: deps.Egress, Sealer: deps.ProviderData, Definitions: st,
		Credentials: credential.New(credential.Config{
			Env:     envref.Config{Allow: cfg.EnvAllow, Owner: "registry", Setting: "registry.env_allow", Vault: deps.Vault},
			Timeout: cfg.DiscoverTimeout,
		}, deps.Egress),
	}
	return kinds.Deps{
		Env: env, Bridge: deps.Bridge, Agents: deps.AgentCalls,
		Builtin:   builtin.New(deps.DB.Now, deps.Artifacts, deps.Knowledge, deps.Facts),
		SkillDirs: cfg.Skills.Dirs,
	}
}

// openLog returns the log of domain events.
func openLog(cfg Config, st store.Store, deps Deps) (*eventlog.Log, error) {
	var publisher eventlog.Publisher
	if deps.Bus != nil {
		publisher = deps.Bus
	}
	return eventlog.NewLog(eventlog.Config{
		Source: store.EventSource, Retention: cfg.EventRetention, Interval: eventlog.Interval,
		Subject: func(tenant string) string { return contract.DomainEventSubject(tenant, "registry") },
	}, st.EventLog(), publisher, deps.Log)
}

// Register adds the services to a server.
func (s *Service) Register(r grpc.ServiceRegistrar) {
	api.Register(r, api.Deps{
		Store: s.store, Policy: s.policy, Upstream: s.upstream, Syncer: s.syncer, Executor: s.executor, Metrics: s.metrics,
		Cache: s.cache, Origins: s.origins,
		Events: s.events, Now: s.now,
		MaxTextBytes: s.cfg.MaxTextBytes, Log: s.log,
	})
}

// Run writes the configured sources to the database, syncs inventories and extends the leases of running calls until ctx ends. Then it
// waits for running calls as configured, and returns nil. An unreachable source is not an error.
func (s *Service) Run(ctx context.Context) error {
	if err := s.seed(ctx); err != nil && ctx.Err() == nil {
		return err
	}
	remove := telemetry.Add(s.metrics)
	defer remove()
	var g errgroup.Group
	g.Go(func() error { return s.syncer.Run(ctx) })
	// The cache and the events end last: calls that end until then may change something, and are recorded.
	last, end := context.WithCancel(context.WithoutCancel(ctx))
	g.Go(func() error {
		defer end()
		return s.executor.Keep(ctx)
	})
	if s.cache != nil {
		g.Go(func() error { return s.cache.Run(last) })
	}
	g.Go(func() error {
		s.events.Run(last)
		return nil
	})
	defer s.upstream.Close()
	return g.Wait()
}
