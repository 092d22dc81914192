package sessions

import (
	"context"

	"buf.build/go/protovalidate"

	"github.com/windlass-dev/windlass/services/sessions/access"
	"github.com/windlass-dev/windlass/services/sessions/agent"
	"github.com/windlass-dev/windlass/services/sessions/api"
	"github.com/windlass-dev/windlass/services/sessions/approval"
	"github.com/windlass-dev/windlass/services/sessions/artifact"
	"github.com/windlass-dev/windlass/services/sessions/blueprint"
	"github.com/windlass-dev/windlass/services/sessions/budget"
	"github.com/windlass-dev/windlass/services/sessions/bundle"
	"github.com/windlass-dev/windlass/services/sessions/child"
	"github.com/windlass-dev/windlass/services/sessions/conversation"
	"github.com/windlass-dev/windlass/services/sessions/erase"
	"github.com/windlass-dev/windlass/services/sessions/file"
	"github.com/windlass-dev/windlass/services/sessions/find"
	"github.com/windlass-dev/windlass/services/sessions/grant"
	"github.com/windlass-dev/windlass/services/sessions/idempotency"
	"github.com/windlass-dev/windlass/services/sessions/input"
	"github.com/windlass-dev/windlass/services/sessions/journal"
	"github.com/windlass-dev/windlass/services/sessions/limits"
	"github.com/windlass-dev/windlass/services/sessions/outbox"
	"github.com/windlass-dev/windlass/services/sessions/rerun"
	"github.com/windlass-dev/windlass/services/sessions/schedule"
	"github.com/windlass-dev/windlass/services/sessions/session"
	"github.com/windlass-dev/windlass/services/sessions/share"
	"github.com/windlass-dev/windlass/services/sessions/step"
	"github.com/windlass-dev/windlass/services/sessions/store"
	"github.com/windlass-dev/windlass/services/sessions/turn"
	"github.com/windlass-dev/windlass/services/sessions/wait"
	"github.com/windlass-dev/windlass/services/sessions/webhook"
)

// parts are what the gRPC servers are made of, each with those that it uses.
type parts struct {
	*Service
	deps          Deps
	journal       *journal.Journal
	access        access.Reader
	limits        limits.Bounds
	input         input.Checker
	blueprints    blueprint.Resolver
	agents        *agent.Service
	conversations *conversation.Service
	sessions      *session.Service
	reruns        *rerun.Service
	budgets       *budget.Service
	keys          idempotency.Keys
}

// newParts makes the parts that do not need turns.
func newParts(s *Service, deps Deps) *parts {
	cfg, st := s.cfg, s.store
	p := &parts{
		Service: s, deps: deps, journal: journal.New(st, deps.Bus, deps.Log), access: access.NewReader(st),
		limits: limits.Bounds{Default: cfg.Limits, Max: cfg.MaxLimits}, input: input.Checker{MaxBytes: cfg.MaxInputBytes},
		blueprints:    blueprint.Resolver{Checker: blueprint.Checker{Env: cfg.PlaceholderEnv}, Getenv: deps.Getenv},
		conversations: conversation.New(conversation.Config{MaxCopyBytes: cfg.MaxForkBytes}, st),
		keys:          idempotency.New(st, cfg.IdempotencyAge),
	}
	p.agents = agent.New(agent.Deps{
		Store: st, Approvals: deps.Policy, Groups: deps.Groups, Blueprints: p.blueprints.Checker, CheckLimits: p.limits.CheckAgent,
		Models: deps.Models, Chains: deps.Chains,
	})
	s.outbox = outbox.New(outbox.Config{Interval: cfg.SweepInterval, MaxOpen: cfg.MaxOpenWorkflows, MaxStarting: cfg.MaxStarting}, st,
		deps.Dispatcher, deps.Log)
	s.workers = outbox.NewWorkers(st, deps.Bus, cfg.SweepInterval, deps.Log)
	s.eraser = erase.New(erase.Eraser{
		Store: st, Ledger: deps.Ledger, Decisions: deps.Policy, Histories: deps.Dispatcher, Log: deps.Log, Every: cfg.SweepInterval,
		Now: st.Now,
	})
	p.sessions = session.New(session.Deps{
		Store: st, Journal: p.journal, Access: p.access, Agents: p.agents, Blueprints: p.blueprints, Conversations: p.conversations, Keys: p.keys,
		Bus: deps.Bus, Erase: s.eraser.Wake, RestoreFor: cfg.RestoreFor, Log: deps.Log,
	})
	s.sessions, s.indexer = p.sessions, find.NewIndexer(st)
	p.reruns = rerun.New(rerun.Deps{
		Store: st, Access: p.access, Sessions: p.sessions, Agents: p.agents, Conversations: p.conversations, Models: deps.Models,
		MaxBytes: cfg.MaxForkBytes,
		Log:      deps.Log,
	})
	p.files = file.New(cfg.Files, st, deps.Policy, deps.Egress)
	p.budgets = budget.New(budget.Deps{
		Store: st, Prompts: p.conversations, CheckSession: p.access.CheckSession, CheckAgent: p.checkAgent,
		OutputTokens: int64(cfg.ReserveOutputTokens),
	})
	return p
}

// checkAgent returns nil if there is an agent with an id.
func (p *parts) checkAgent(ctx context.Context, id string) error {
	_, err := p.agents.Get(ctx, id, 0)
	return err
}

// makeTurns makes turns, and those that start or watch them.
func (p *parts) makeTurns() (err error) {
	cfg, st, deps := p.cfg, p.store, p.deps
	p.webhooks, err = webhook.New(cfg.Webhooks, webhook.Deps{
		Store: st, Egress: deps.Egress, SealKey: cfg.SealKey, OldSealKeys: cfg.OldSealKeys, PollInterval: cfg.SweepInterval, Log: deps.Log,
	})
	if err != nil {
		return err
	}
	notifier, waker := api.Notifier{Webhooks: p.webhooks}, outbox.Waker{Outbox: p.outbox, Workers: p.workers}
	p.waits = wait.New(wait.Deps{Store: st, Journal: p.journal, Times: cfg.Waits, Notifier: notifier, Waker: waker, Log: deps.Log})
	p.grants = grant.New(grant.Deps{Store: st, Policy: deps.Grants, Issuers: deps.Issuers, Log: deps.Log})
	p.turns = turn.New(turn.Config{
		MaxQueued: cfg.MaxQueuedTurns, Load: cfg.Load, MaxInputs: cfg.MaxTurnInputs, StartDelay: cfg.StartDelay, LostAfter: cfg.LostAfter,
		MaxRestarts: cfg.MaxRestarts,
	}, turn.Deps{
		Store: st, Journal: p.journal, Access: p.access, Keys: p.keys, Input: p.input, Limits: p.limits, Agents: p.agents,
		Blueprints: p.blueprints,
		Sessions:   p.sessions, Budgets: p.budgets, Waits: p.waits, Reruns: p.reruns, Webhooks: p.webhooks, Notifier: notifier,
		Children: childrenOf{p.Service}, Waker: waker, Engine: deps.Dispatcher, ProviderData: deps.ProviderData,
		Grants: p.grants, Quotas: deps.Quotas, Files: p.files, Log: deps.Log,
	})
	p.children = child.New(child.Deps{
		Store: st, Journal: p.journal, Access: p.access, Agents: p.agents, Sessions: p.sessions, Turns: p.turns, Waits: p.waits, Input: p.input,
		OfferResults: cfg.OfferResults, Log: deps.Log,
	})
	p.schedules = schedule.New(cfg.Schedules, schedule.Deps{
		Store: st, Turns: turn.Scheduled{Service: p.turns}, Calendars: deps.Dispatcher, Policy: deps.Policy, PollInterval: cfg.SweepInterval,
		Log: deps.Log,
	})
	return nil
}

// childrenOf is what turns call of the children, which are made after them.
type childrenOf struct{ s *Service }

// AfterEnd implements turn.Children.
func (c childrenOf) AfterEnd(tx *journal.Tx, t store.Turn) { c.s.children.AfterEnd(tx, t) }

// serve makes the servers.
func (p *parts) serve(validator protovalidate.Validator) error {
	bundles, err := bundle.New(bundle.Deps{
		Store: p.store, Agents: p.agents, Schedules: p.schedules, Webhooks: p.webhooks, Sources: p.deps.Registry,
		Groups: p.deps.Groups, Policies: p.deps.Policies, Routes: p.deps.Routes, Policy: p.deps.Policy,
		CheckSession: p.sessions.CheckNew,
		Models:       p.deps.Models, Tools: p.deps.Tools,
	})
	if err != nil {
		return err
	}
	steps := step.New(step.Deps{
		Store: p.store, Journal: p.journal, Access: p.access, Agents: p.agents, Blueprints: p.blueprints, Limits: p.limits,
		Conversations: p.conversations,
		Budgets:       p.budgets, Waits: p.waits, Turns: p.turns, Children: p.children, Outbox: p.outbox, MaxLease: p.cfg.MaxLease,
	})
	artifacts := artifact.NewService(p.store, p.access)
	execution := api.NewExecution(api.ExecutionDeps{
		Access: p.access, Steps: steps, Turns: p.turns, Waits: p.waits, Children: p.children, Conversations: p.conversations, Reruns: p.reruns,
		Schedules: p.schedules, Budgets: p.budgets, Artifacts: artifacts, Now: p.store.Now,
	})
	p.shares = share.New(p.cfg.Shares, share.Deps{
		Store: p.store, Access: p.access, Conversations: p.conversations, Sessions: p.Service.sessions, Bus: p.deps.Bus, Log: p.log,
	})
	approvals := approval.New(approval.Deps{Store: p.store, Access: p.access, Waits: p.waits, Input: p.input})
	p.servers = servers{
		agents:   api.NewAgents(p.agents, bundles, validator),
		sessions: api.NewSessions(p.sessions, p.conversations, p.turns, p.cfg.MaxExportBytes),
		turns: api.NewTurns(api.TurnDeps{
			Access: p.access, Turns: p.turns, Children: p.children, Reruns: p.reruns, Approvals: approvals,
			Watcher: api.NewWatcher(p.store, p.access, p.hub, p.cfg.ChatWait), Engine: p.deps.Dispatcher, Now: p.store.Now,
			Contexts: api.NewContexts(execution, p.store, p.deps.Prompts),
		}),
		approvals: api.NewApprovals(approvals, p.feed),
		budgets:   api.NewBudgets(p.budgets),
		artifacts: api.NewArtifacts(artifacts),
		files:     api.NewFiles(p.files),
		webhooks:  api.NewWebhooks(p.webhooks),
		schedules: api.NewSchedules(p.schedules, p.store.Now),
		analytics: api.NewAnalytics(p.store, p.deps.Policy),
		events:    api.NewEvents(p.feed),
		shares:    api.NewShares(p.shares, p.turns),
		execution: execution,
	}
	return nil
}
