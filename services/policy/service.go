// Package policy decides who may do what, by rules in its configuration and by stored access policies, and records each decision.
package policy

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"google.golang.org/grpc"

	"github.com/windlass-dev/windlass/libs/authn/bearer"
	"github.com/windlass-dev/windlass/libs/backoff"
	"github.com/windlass-dev/windlass/libs/callertoken"
	"github.com/windlass-dev/windlass/libs/config"
	"github.com/windlass-dev/windlass/libs/eventlog"
	"github.com/windlass-dev/windlass/libs/keyset"
	"github.com/windlass-dev/windlass/libs/sqldb"
	"github.com/windlass-dev/windlass/services/policy/api"
	"github.com/windlass-dev/windlass/services/policy/audit/trail"
	"github.com/windlass-dev/windlass/services/policy/connection"
	"github.com/windlass-dev/windlass/services/policy/decide"
	"github.com/windlass-dev/windlass/services/policy/grant/exchange"
	"github.com/windlass-dev/windlass/services/policy/login"
	"github.com/windlass-dev/windlass/services/policy/shield/ask"
	"github.com/windlass-dev/windlass/services/policy/shield/chain"
	"github.com/windlass-dev/windlass/services/policy/store"
	"github.com/windlass-dev/windlass/services/policy/vault"
)

// Deps holds the service's dependencies; only DB and Log are required.
type Deps struct {
	// DB is the service's own database. New migrates it.
	DB *sqldb.DB
	// Master encrypts the data keys of secrets, such as a key in a key management service; those of the configuration then only decrypt. It
	// may be nil.
	Master keyset.Master
	// Egress reaches the authorization servers of sources, the webhooks of shields and key management services; nil = none of them can be
	// used.
	Egress connection.Dialer
	// Bus announces changes of access policies to processes that cache permissions; nil = they learn of them when their caches expire.
	Bus eventlog.Publisher
	// Peers are the other services.
	Peers Peers
	// Grants are what lets turns act for their users.
	Grants GrantDeps
	// Log receives internal errors.
	Log *slog.Logger
}

// GrantDeps are what grants need. Without issuers that exchange tokens, there are none.
type GrantDeps struct {
	// Issuers are those of users.
	Issuers []bearer.Issuer
	// Egress reaches them.
	Egress exchange.Dialer
	// Tokens opens the tokens of users.
	Tokens *callertoken.Sealer
}

// Service serves windlass.policy.v1, windlass.policyevents.v1 and windlass.login.v1, and does their background work. It is safe for
// concurrent use.
type Service struct {
	cfg   Config
	rooms api.Deps
}

// New validates configuration and dependencies, migrates the database and returns the service.
func New(cfg Config, deps Deps) (*Service, error) {
	if deps.DB == nil || deps.Log == nil {
		return nil, errors.New("policy needs DB and Log")
	}
	config.Fill(&cfg)
	if cfg.ServiceRules == nil {
		cfg.ServiceRules = defaultServiceRules()
	}
	if err := cfg.check(); err != nil {
		return nil, err
	}
	engine, err := decide.NewEngine(decide.Config{
		Rules: cfg.Rules, ServiceRules: cfg.ServiceRules, Approvals: cfg.Approvals, OperatorTenant: cfg.OperatorTenant,
	})
	if err != nil {
		return nil, err
	}
	shields, err := chain.New(cfg.Shields)
	if err != nil {
		return nil, err
	}
	if err := store.Migrate(context.Background(), deps.DB); err != nil {
		return nil, fmt.Errorf("policy: %w", err)
	}
	secrets, hasMaster, err := cfg.Vault.open(deps.DB, deps.Master, deps.Egress)
	if err != nil {
		return nil, err
	}
	if err := shields.Connect(ask.Deps{
		Models: deps.Peers.Models, Egress: deps.Egress, Secrets: vault.References{Vault: secrets}, Log: deps.Log,
	}); err != nil {
		return nil, err
	}
	t := trail.Of(deps.DB)
	s := &Service{cfg: cfg, rooms: api.Deps{
		Store: store.New(deps.DB, t), Trail: t, Engine: engine, Shields: shields, Vault: secrets, Logins: login.New(deps.DB, t),
		Groups: deps.Peers.Groups, MaxAccessPolicies: cfg.MaxAccessPolicies, PermissionsMaxAge: cfg.PermissionsMaxAge, Now: deps.DB.Now,
		Log: deps.Log,
	}}
	if err := s.makeConnections(deps); err != nil {
		return nil, err
	}
	if err := s.makeGrants(deps, hasMaster); err != nil {
		return nil, err
	}
	if err := s.makeDecisions(deps); err != nil {
		return nil, err
	}
	return s, nil
}

// Register adds the services to a server.
func (s *Service) Register(r grpc.ServiceRegistrar) { api.Register(r, s.rooms) }

// Authorizer returns the authorizer of this process's policy server.
func (s *Service) Authorizer() *decide.Authorizer {
	return decide.NewAuthorizer(s.rooms.Decider, s.rooms.Denials, s.rooms.Log)
}

// Flush waits until all decisions are recorded, or until ctx ends. Call it before the database is closed.
func (s *Service) Flush(ctx context.Context) error {
	if err := s.rooms.Store.Flush(ctx); err != nil {
		return err
	}
	return s.rooms.Trail.Extend(ctx)
}

// pruneEvery is the time between two deletions of what is not kept any longer.
const pruneEvery = time.Hour

// prune deletes what is not kept any longer.
func (s *Service) prune(ctx context.Context) {
	if err := s.rooms.Store.PruneInputs(ctx, s.rooms.Now().Add(-s.cfg.InputRetention)); err != nil && ctx.Err() == nil {
		s.rooms.Log.ErrorContext(ctx, "old inputs of decisions cannot be deleted", "error", err)
	}
	if s.cfg.AuditRetention == 0 {
		return
	}
	if err := s.rooms.Trail.Prune(ctx, s.rooms.Now().Add(-s.cfg.AuditRetention)); err != nil && ctx.Err() == nil {
		s.rooms.Log.ErrorContext(ctx, "old records of the audit trail cannot be deleted", "error", err)
	}
}

// Run extends the audit trail, and removes what has expired, until ctx ends.
func (s *Service) Run(ctx context.Context) error {
	var all sync.WaitGroup
	all.Go(func() { s.rooms.Trail.Run(ctx, s.rooms.Log) })
	all.Go(func() { s.rooms.Events.Run(ctx) })
	all.Go(func() {
		for {
			s.prune(ctx)
			if backoff.Sleep(ctx, pruneEvery) != nil {
				return
			}
		}
	})
	err := s.rooms.Grants.Run(ctx)
	all.Wait()
	return err
}
