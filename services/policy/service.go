// Package policy decides who may do what, by rules in its configuration, and records each decision.
package policy

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"golang.org/x/time/rate"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/backoff"
	"github.com/windlass-dev/windlass/libs/enum"
	"github.com/windlass-dev/windlass/libs/eventlog"
	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/faultpoint"
	"github.com/windlass-dev/windlass/libs/ids"
	"github.com/windlass-dev/windlass/libs/keyset"
	"github.com/windlass-dev/windlass/libs/page"
	"github.com/windlass-dev/windlass/libs/sqldb"
	loginv1 "github.com/windlass-dev/windlass/proto/gen/windlass/login/v1"
	policyv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policy/v1"
	policyeventsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policyevents/v1"
	"github.com/windlass-dev/windlass/services/policy/access"
	"github.com/windlass-dev/windlass/services/policy/audit"
	"github.com/windlass-dev/windlass/services/policy/audit/trail"
	"github.com/windlass-dev/windlass/services/policy/connection"
	connections "github.com/windlass-dev/windlass/services/policy/connection/api"
	"github.com/windlass-dev/windlass/services/policy/decide"
	"github.com/windlass-dev/windlass/services/policy/events"
	"github.com/windlass-dev/windlass/services/policy/grant"
	grantapi "github.com/windlass-dev/windlass/services/policy/grant/api"
	"github.com/windlass-dev/windlass/services/policy/login"
	"github.com/windlass-dev/windlass/services/policy/quota"
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
	// Groups says which tools are in which groups, to explain and replay decisions; nil = tool groups count as missing there.
	Groups GroupReader
	// Models judge texts for shields of the kinds guard and moderation; nil = such shields are refused.
	Models ask.Models
	// Logins says how users log in at sources, and Egress reaches their authorization servers; without both, users cannot connect sources.
	Logins LoginReader
	Egress connection.Dialer
	// Connected is told of new connections; it may be nil.
	Connected connection.Notice
	// Bus announces changes of access policies to processes that cache permissions; nil = they learn of them when their caches expire.
	Bus eventlog.Publisher
	// Grants are what lets turns act for their users.
	Grants GrantDeps
	// Turns says what turns use of quotas; nil = their use is reported as 0.
	Turns quota.Turns
	// Log receives internal errors.
	Log *slog.Logger
}

// Service implements PolicyService. It is safe for concurrent use.
type Service struct {
	policyv1.UnimplementedPolicyServiceServer

	engine   *decide.Engine
	decider  *decide.Decider
	recorder *decide.Recorder
	policies *accessPolicies

	maxAge  time.Duration
	store   store.Store
	now     func() time.Time // the database's
	denials *decide.Denials
	shields chain.Shields
	secrets *secrets
	trail   *trail.Trail
	audit   *audit.Service
	inputs  time.Duration // how long unused ones are kept
	records time.Duration // how long those of the audit trail are kept; 0 = forever
	logins  *login.Server
	log     *slog.Logger

	connections *connections.Server // nil: not served
	grants      *grant.Service
	grantServer *grantapi.Server
	quotas      *quota.Server
	events      *events.Server
}

// New validates configuration and dependencies, migrates the database and returns the service.
func New(cfg Config, deps Deps) (*Service, error) {
	if deps.DB == nil || deps.Log == nil {
		return nil, errors.New("policy needs DB and Log")
	}
	cfg, err := cfg.complete()
	if err != nil {
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
	t := trail.Of(deps.DB)
	s := &Service{
		engine: engine, maxAge: cfg.PermissionsMaxAge, store: store.New(deps.DB, t), now: deps.DB.Now, shields: shields, log: deps.Log,
		trail: t, inputs: cfg.InputRetention, records: cfg.AuditRetention,
	}
	s.audit = audit.New(t, s.store.Flush, deps.DB.Now)
	masters, err := cfg.Vault.masters(deps.Egress)
	if err != nil {
		return nil, err
	}
	if deps.Master != nil {
		masters = append([]keyset.Master{deps.Master}, masters...)
	}
	s.logins = login.New(deps.DB, t)
	s.secrets = &secrets{vault: vault.New(deps.DB, masters...), store: s.store, trail: t, now: deps.DB.Now, log: deps.Log}
	if err := s.secrets.vault.Check(context.Background()); errors.Is(err, keyset.ErrAway) {
		return nil, fmt.Errorf("%w: start the service, and check the address and the token of policy.vault.kms", err)
	} else if err != nil {
		return nil, fmt.Errorf("policy.vault: %w", err)
	}
	if err := shields.Connect(ask.Deps{
		Models: deps.Models, Egress: deps.Egress, Secrets: vault.References{Vault: s.secrets.vault}, Log: deps.Log,
	}); err != nil {
		return nil, err
	}
	if err := s.connect(cfg, deps); err != nil {
		return nil, err
	}
	if err := s.buildGrants(cfg, deps, s.secrets.vault, len(masters)); err != nil {
		return nil, err
	}
	if err := s.prepare(cfg, deps); err != nil {
		return nil, err
	}
	return s, nil
}

// prepare builds what decides and records.
func (s *Service) prepare(cfg Config, deps Deps) error {
	var err error
	if s.recorder, err = decide.NewRecorder(s.store, cfg.InputRetention); err != nil {
		return err
	}
	book, err := quota.NewBook(cfg.Quotas, deps.DB, s.store)
	if err != nil {
		return err
	}
	s.decider, err = decide.NewDecider(cfg.PermissionsMaxAge, decide.Deps{
		Engine: s.engine, Policies: s.store, Quotas: book, Bus: deps.Bus, Log: deps.Log,
	})
	if err != nil {
		return err
	}
	s.policies = &accessPolicies{
		store: s.store, decider: s.decider, groups: deps.Groups, max: cfg.MaxAccessPolicies, now: deps.DB.Now,
	}
	s.quotas = quota.New(book, deps.Turns, s.store.EventLog(), s.decider.Changed)
	log, err := eventlog.NewLog(events.Config(cfg.EventRetention), s.store.EventLog(), deps.Bus, deps.Log)
	if err != nil {
		return fmt.Errorf("policy: %w", err)
	}
	s.events = &events.Server{Log: log}
	limit := rate.NewLimiter(rate.Limit(cfg.DenialsPerSecond), cfg.DenialsPerSecond)
	s.denials, err = decide.NewDenials(s.recorder, s.decider, limit, deps.DB.Now)
	return err
}

// Register adds the service to a server.
func (s *Service) Register(r grpc.ServiceRegistrar) {
	policyv1.RegisterPolicyServiceServer(r, s)
	policyv1.RegisterSecretServiceServer(r, s.secrets)
	policyv1.RegisterAccessPolicyServiceServer(r, s.policies)
	loginv1.RegisterLoginServiceServer(r, s.logins)
	if s.connections != nil {
		policyv1.RegisterConnectionServiceServer(r, s.connections)
	}
	policyv1.RegisterGrantServiceServer(r, s.grantServer)
	policyv1.RegisterAuditServiceServer(r, s.audit)
	policyv1.RegisterQuotaServiceServer(r, s.quotas)
	policyeventsv1.RegisterEventLogServiceServer(r, s.events)
}

// Authorizer returns the authorizer of this process's policy server.
func (s *Service) Authorizer() *decide.Authorizer {
	return decide.NewAuthorizer(s.decider, s.denials, s.log)
}

// GetPermissions implements PolicyService.
func (s *Service) GetPermissions(ctx context.Context, req *policyv1.GetPermissionsRequest) (*policyv1.GetPermissionsResponse, error) {
	r, err := s.decider.Now(ctx, req.GetPrincipal())
	if err != nil {
		return nil, err
	}
	limits, err := s.decider.Quota(ctx, r)
	if err != nil {
		return nil, err
	}
	globs, deniedBy := r.Permissions()
	return &policyv1.GetPermissionsResponse{
		Permissions: globs, DeniedBy: deniedBy, PolicyRevision: r.Revision, Quota: limits,
		MaxAge: durationpb.New(s.maxAge), MaxAgeMs: int32(s.maxAge.Milliseconds()),
	}, nil
}

// DecideTool implements PolicyService.
func (s *Service) DecideTool(ctx context.Context, req *policyv1.DecideToolRequest) (*policyv1.Decision, error) {
	began, p := time.Now(), req.GetPrincipal()
	r, err := s.decider.Now(ctx, p)
	if err != nil {
		return nil, err
	}
	members := access.Members(req.GetGroups())
	if groups := r.Missing(members); len(groups) > 0 {
		return &policyv1.Decision{NeededGroups: groups}, nil
	}
	v := r.Tool(req.GetTool(), members)
	var needed *policyv1.ApprovalRequirement
	if v.Allowed {
		call := decide.ToolCall{
			Principal: p, Tool: req.GetTool(), Effect: enum.Name(req.GetEffect()), Arguments: req.GetArguments(), Tainted: req.GetTainted(),
		}
		if rule, ofAgent := s.engine.Approval(call, req.GetApprovalRules()); rule != nil {
			v.Reason += asks(rule, ofAgent, req.GetApprovalId())
			needed = &policyv1.ApprovalRequirement{Rule: rule}
		}
	}
	d := store.Decision{
		Tenant: p.GetTenant(), ID: ids.New(ids.Decision), Time: s.now(), Subject: p.GetSubject(), Actor: decide.Actor(ctx),
		Kind: store.Tool, Resource: req.GetTool(), Allowed: v.Allowed, Rule: v.Rule, Reason: v.Reason,
		Source: req.GetSource(), Effect: enum.Name(req.GetEffect()), ArgumentsHash: req.GetArgumentsHash(),
		TurnID: req.GetTurnId(), CallID: req.GetCallId(),
		PolicyRevision: r.Revision, Policies: strings.Join(v.Policies, ","), InputHash: r.Input.Hash, Latency: time.Since(began).Truncate(time.Microsecond),
	}
	if err := s.recorder.Add(ctx, d, r.Input); err != nil {
		return nil, err
	}
	if err := faultpoint.Fail(faultpoint.PolicyDecided); err != nil {
		return nil, err
	}
	out := toProto(d)
	out.Approval = needed
	return out, nil
}

// Flush waits until all decisions are recorded, or until ctx ends. Call it before the database is closed.
func (s *Service) Flush(ctx context.Context) error {
	if err := s.store.Flush(ctx); err != nil {
		return err
	}
	return s.trail.Extend(ctx)
}

// pruneEvery is the time between two deletions of what is not kept any longer.
const pruneEvery = time.Hour

// prune deletes what is not kept any longer.
func (s *Service) prune(ctx context.Context) {
	if err := s.store.PruneInputs(ctx, s.now().Add(-s.inputs)); err != nil && ctx.Err() == nil {
		s.log.ErrorContext(ctx, "old inputs of decisions cannot be deleted", "error", err)
	}
	if s.records == 0 {
		return
	}
	if err := s.trail.Prune(ctx, s.now().Add(-s.records)); err != nil && ctx.Err() == nil {
		s.log.ErrorContext(ctx, "old records of the audit trail cannot be deleted", "error", err)
	}
}

// Run extends the audit trail, and removes what has expired, until ctx ends.
func (s *Service) Run(ctx context.Context) error {
	var all sync.WaitGroup
	all.Go(func() { s.trail.Run(ctx, s.log) })
	all.Go(func() { s.events.Log.Run(ctx) })
	all.Go(func() {
		for {
			s.prune(ctx)
			if backoff.Sleep(ctx, pruneEvery) != nil {
				return
			}
		}
	})
	err := s.grants.Run(ctx)
	all.Wait()
	return err
}

// CheckText implements PolicyService.
func (s *Service) CheckText(ctx context.Context, req *policyv1.CheckTextRequest) (*policyv1.CheckTextResponse, error) {
	return s.shields.Check(ctx, req)
}

// CheckApprovalRules implements PolicyService.
func (s *Service) CheckApprovalRules(_ context.Context, req *policyv1.CheckApprovalRulesRequest) (*policyv1.CheckApprovalRulesResponse,
	error,
) {
	return &policyv1.CheckApprovalRulesResponse{Faults: s.engine.CheckApprovals(req.GetRules())}, nil
}

// FilterTools implements PolicyService.
func (s *Service) FilterTools(ctx context.Context, req *policyv1.FilterToolsRequest) (*policyv1.FilterToolsResponse, error) {
	r, err := s.decider.Now(ctx, req.GetPrincipal())
	if err != nil {
		return nil, err
	}
	members := access.Members(req.GetGroups())
	if groups := r.Missing(members); len(groups) > 0 {
		return &policyv1.FilterToolsResponse{NeededGroups: groups}, nil
	}
	return &policyv1.FilterToolsResponse{Tools: r.Tools(req.GetTools(), members)}, nil
}

// RecordDenial implements PolicyService.
func (s *Service) RecordDenial(ctx context.Context, req *policyv1.RecordDenialRequest) (*policyv1.Decision, error) {
	d, err := s.denials.Record(ctx, req.GetPrincipal(), req.GetPermission(), req.GetMethod())
	if err != nil {
		return nil, err
	}
	return toProto(d), nil
}

// ForgetTurns implements PolicyService.
func (s *Service) ForgetTurns(ctx context.Context, req *policyv1.ForgetTurnsRequest) (*policyv1.ForgetTurnsResponse, error) {
	if err := s.store.Forget(ctx, req.GetTenant(), req.GetTurnIds()); err != nil {
		return nil, err
	}
	return &policyv1.ForgetTurnsResponse{}, nil
}

// ListDecisions implements PolicyService.
func (s *Service) ListDecisions(ctx context.Context, req *policyv1.ListDecisionsRequest) (*policyv1.ListDecisionsResponse, error) {
	f := store.Filter{TurnID: req.GetTurnId(), DeniedOnly: req.GetDeniedOnly()}
	list := fmt.Sprintf("decisions|turn=%s|denied=%t", f.TurnID, f.DeniedOnly)
	var after store.Cursor
	size, err := page.Request(list, req.GetPageSize(), req.GetPageToken(), 50, &after)
	if err != nil {
		return nil, err
	}
	found, err := s.store.List(ctx, authn.Tenant(ctx), f, after, size+1)
	if err != nil {
		return nil, fmt.Errorf("list decisions: %w", err)
	}
	resp := &policyv1.ListDecisionsResponse{}
	found, resp.NextPageToken = page.Trim(found, size, list, func(d store.Decision) any {
		return store.Cursor{Micros: sqldb.Micros(d.Time), ID: d.ID}
	})
	for _, d := range found {
		resp.Decisions = append(resp.Decisions, toProto(d))
	}
	return resp, nil
}

// GetDecision implements PolicyService.
func (s *Service) GetDecision(ctx context.Context, req *policyv1.GetDecisionRequest) (*policyv1.Decision, error) {
	d, err := s.store.Get(ctx, authn.Tenant(ctx), req.GetDecisionId())
	if errors.Is(err, store.ErrNotFound) {
		return nil, fault.NotFound("there is no decision %q", req.GetDecisionId())
	}
	if err != nil {
		return nil, fmt.Errorf("get decision: %w", err)
	}
	return toProto(d), nil
}
