package assembly

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"

	"github.com/windlass-dev/windlass/gateway"
	"github.com/windlass-dev/windlass/gateway/mcp"
	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/authn/accesstoken"
	"github.com/windlass-dev/windlass/libs/lifecycle"
	"github.com/windlass-dev/windlass/libs/probe"
	"github.com/windlass-dev/windlass/libs/quota"
	"github.com/windlass-dev/windlass/libs/usertoken"
	"github.com/windlass-dev/windlass/libs/vault"
	executionv1 "github.com/windlass-dev/windlass/proto/gen/windlass/execution/v1"
	inferencev1 "github.com/windlass-dev/windlass/proto/gen/windlass/inference/v1"
	knowledgev1 "github.com/windlass-dev/windlass/proto/gen/windlass/knowledge/v1"
	mcpbridgev1 "github.com/windlass-dev/windlass/proto/gen/windlass/mcpbridge/v1"
	policyv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policy/v1"
	policyeventsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policyevents/v1"
	registryv1 "github.com/windlass-dev/windlass/proto/gen/windlass/registry/v1"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	"github.com/windlass-dev/windlass/services/inference"
	"github.com/windlass-dev/windlass/services/inference/catalog"
	"github.com/windlass-dev/windlass/services/mcpbridge"
	"github.com/windlass-dev/windlass/services/policy"
	"github.com/windlass-dev/windlass/services/registry"
	"github.com/windlass-dev/windlass/services/registry/agents"
	"github.com/windlass-dev/windlass/services/registry/builtin"
	"github.com/windlass-dev/windlass/services/sessions"
	"github.com/windlass-dev/windlass/services/sessions/dispatch"
	"github.com/windlass-dev/windlass/workflows/temporal"
	"github.com/windlass-dev/windlass/workflows/turn"
	"github.com/windlass-dev/windlass/workflows/turn/executor"
)

func (p *Process) buildPolicy() error {
	db, err := p.database(Policy)
	if err != nil {
		return err
	}
	registryConn, err := p.dial(Registry, authn.Service(Policy))
	if err != nil {
		return err
	}
	sessionsConn, err := p.dial(Sessions, authn.Service(Policy))
	if err != nil {
		return err
	}
	inferenceConn, err := p.dial(Inference, authn.Service(Policy))
	if err != nil {
		return err
	}
	cfg := p.cfg.Policy
	cfg.Connections.URL = p.cfg.Gateway.URL
	execution := executionv1.NewExecutionServiceClient(sessionsConn)
	svc, err := policy.New(cfg, policy.Deps{
		DB: db, Egress: p.egress, Bus: p.bus, Log: p.log,
		Peers: policy.Peers{
			Groups: registryv1.NewToolGroupServiceClient(registryConn), Logins: registryv1.NewSourceServiceClient(registryConn),
			Models: inferencev1.NewInferenceServiceClient(inferenceConn), Turns: execution, Connected: connected{execution}, Sessions: execution,
		},
		Grants: policy.GrantDeps{Issuers: p.cfg.Identity.Issuers, Egress: p.issuers, Tokens: p.tokens},
	})
	if err != nil {
		return err
	}
	p.authorizer.set(svc.Authorizer())
	svc.Register(p.server)
	p.group.Add(background(Policy, svc.Run))
	p.flush = svc.Flush
	return nil
}

func (p *Process) buildInference() error {
	db, err := p.database(Inference)
	if err != nil {
		return err
	}
	p.ready[Inference+" database"] = probe.Degrades(db.Check) // the routes that were read last apply while it is away
	policyConn, err := p.dial(Policy, authn.Service(Inference))
	if err != nil {
		return err
	}
	svc, err := inference.New(p.ctx, p.cfg.Inference, inference.Deps{
		Deps: catalog.Deps{
			Egress: p.egress, ProviderData: p.sealer, Vault: vault.New(policyv1.NewSecretServiceClient(policyConn)), Log: p.log,
			Getenv: p.opts.Getenv,
		},
		Authorizer: p.authorizer, DB: db, Bus: p.bus,
	})
	if err != nil {
		return err
	}
	svc.Register(p.server)
	p.group.Add(background(Inference, svc.Run))
	maps.Copy(p.ready, svc.Checks())
	return nil
}

func (p *Process) buildBridge() error {
	policyConn, err := p.dial(Policy, authn.Service(MCPBridge))
	if err != nil {
		return err
	}
	svc, err := mcpbridge.New(p.cfg.MCPBridge, mcpbridge.Deps{
		Egress: p.egress, ProviderData: p.sealer, Vault: vault.New(policyv1.NewSecretServiceClient(policyConn)), Log: p.log,
	})
	if err != nil {
		return err
	}
	svc.Register(p.server)
	p.group.Add(background(MCPBridge, svc.Run))
	return nil
}

func (p *Process) buildRegistry() error {
	db, err := p.database(Registry)
	if err != nil {
		return err
	}
	policyConn, err := p.dial(Policy, authn.Service(Registry))
	if err != nil {
		return err
	}
	bridgeConn, err := p.dial(MCPBridge, authn.Service(Registry))
	if err != nil {
		return err
	}
	factsConn, err := p.dial(Knowledge, authn.Service(Registry))
	if err != nil {
		return err
	}
	// Read artifacts and sessions, and call agents, as the principal of the call.
	sessionsConn, err := p.dial(Sessions, nil)
	if err != nil {
		return err
	}
	knowledgeConn, err := p.dial(Knowledge, nil) // as the principal of the call, too
	if err != nil {
		return err
	}
	svc, err := registry.New(p.cfg.Registry, registry.Deps{
		DB: db, Policy: policyv1.NewPolicyServiceClient(policyConn), Bridge: mcpbridgev1.NewBridgeServiceClient(bridgeConn),
		Egress: p.egress, Bus: p.bus, Artifacts: sessionsv1.NewArtifactServiceClient(sessionsConn),
		Sessions: sessionsv1.NewSessionServiceClient(sessionsConn), Agents: sessionsv1.NewAgentServiceClient(sessionsConn),
		ProviderData: p.sealer, Results: p.results, Vault: vault.New(policyv1.NewSecretServiceClient(policyConn)), Log: p.log,
		Logins: usertoken.New(policyv1.NewConnectionServiceClient(policyConn)), Grants: policyv1.NewGrantServiceClient(policyConn),
		Quotas: quota.Reader{Authorizer: p.authorizer}, Count: policyv1.NewQuotaServiceClient(policyConn),
		Facts: knowledgev1.NewRecallServiceClient(factsConn),
		AgentCalls: agents.Client{
			Agents: sessionsv1.NewAgentServiceClient(sessionsConn), Sessions: sessionsv1.NewSessionServiceClient(sessionsConn),
			Turns: sessionsv1.NewTurnServiceClient(sessionsConn),
		},
		Knowledge: builtin.Knowledge{
			Search: knowledgev1.NewSearchServiceClient(knowledgeConn), Documents: knowledgev1.NewDocumentServiceClient(knowledgeConn),
		},
	})
	if err != nil {
		return err
	}
	svc.Register(p.server)
	p.group.Add(background(Registry, svc.Run))
	return nil
}

func (p *Process) buildSessions() error {
	db, err := p.database(Sessions)
	if err != nil {
		return err
	}
	// Apply a bundle's sources as the principal that applies the bundle.
	registryConn, err := p.dial(Registry, nil)
	if err != nil {
		return err
	}
	policyConn, err := p.dial(Policy, authn.Service(Sessions))
	if err != nil {
		return err
	}
	// Apply a bundle's access policies as the principal that applies the bundle.
	policiesConn, err := p.dial(Policy, nil)
	if err != nil {
		return err
	}
	routesConn, err := p.dial(Inference, nil) // and its routes
	if err != nil {
		return err
	}
	inferenceConn, err := p.dial(Inference, authn.Service(Sessions))
	if err != nil {
		return err
	}
	ledgerConn, err := p.dial(Registry, authn.Service(Sessions))
	if err != nil {
		return err
	}
	starter, err := p.newDispatcher()
	if err != nil {
		return err
	}
	prompts, err := p.newPrompts(ledgerConn, policyConn)
	if err != nil {
		return err
	}
	svc, err := sessions.New(p.cfg.Sessions, sessions.Deps{
		DB: db, Bus: p.bus, Dispatcher: starter, Registry: registryv1.NewSourceServiceClient(registryConn),
		Groups: registryv1.NewToolGroupServiceClient(registryConn), Policies: policyv1.NewAccessPolicyServiceClient(policiesConn),
		Routes: inferencev1.NewInferenceServiceClient(routesConn),
		Tools:  registryv1.NewToolServiceClient(registryConn),
		Models: inferencev1.NewInferenceServiceClient(inferenceConn), Chains: inferencev1.NewInferenceServiceClient(inferenceConn),
		Policy: policyv1.NewPolicyServiceClient(policyConn),
		Ledger: registryv1.NewToolExecutionServiceClient(ledgerConn), Events: registryv1.NewEventLogServiceClient(ledgerConn),
		PolicyEvents: policyeventsv1.NewEventLogServiceClient(policyConn),
		Egress:       p.egress, Getenv: p.opts.Getenv, ProviderData: p.sealer, Log: p.log,
		Grants: policyv1.NewGrantServiceClient(policyConn), Issuers: p.cfg.Identity.exchanging(),
		Quotas: quota.Reader{Authorizer: p.authorizer}, Prompts: prompts,
	})
	if err != nil {
		return err
	}
	svc.Register(p.server)
	p.group.Add(background(Sessions, svc.Run))
	return nil
}

// newDispatcher returns what has turns run.
func (p *Process) newDispatcher() (*dispatch.Temporal, error) {
	d, err := dispatch.New(p.temporal, dispatch.Config{
		Eager: p.cfg.Temporal.Eager, ParkAfter: p.cfg.Temporal.ParkAfter, Namespace: p.cfg.Temporal.Namespace,
		Console: p.cfg.Gateway.URL, Refused: temporal.Refused,
	})
	if err != nil {
		return nil, err
	}
	p.ready["workers"] = probe.Degrades(d.CheckWorkers)
	return d, nil
}

func (p *Process) buildWorker() error {
	if err := p.cfg.Worker.check(p.cfg.Temporal.Eager); err != nil {
		return err
	}
	as := authn.Service(Worker)
	sessionsConn, err := p.dial(Sessions, as)
	if err != nil {
		return err
	}
	registryConn, err := p.dial(Registry, as)
	if err != nil {
		return err
	}
	inferenceConn, err := p.dial(Inference, as)
	if err != nil {
		return err
	}
	policyConn, err := p.dial(Policy, as)
	if err != nil {
		return err
	}
	knowledgeConn, err := p.dial(Knowledge, as)
	if err != nil {
		return err
	}
	hosts, err := executor.New(p.cfg.Worker.Executors, executor.Deps{
		Egress: p.egress, Vault: vault.New(policyv1.NewSecretServiceClient(policyConn)), Log: p.log,
	})
	if err != nil {
		return err
	}
	w, err := turn.NewWorker(p.cfg.Worker.turn(), turn.Deps{
		Client: p.temporal, Bus: p.bus, Log: p.log, Executors: hosts,
		Sessions:  executionv1.NewExecutionServiceClient(sessionsConn),
		Tools:     registryv1.NewToolExecutionServiceClient(registryConn),
		Inference: inferencev1.NewInferenceServiceClient(inferenceConn),
		Shields:   policyv1.NewPolicyServiceClient(policyConn),
		Facts:     knowledgev1.NewRecallServiceClient(knowledgeConn),
		Ingestion: knowledgev1.NewIngestionServiceClient(knowledgeConn),
	})
	if err != nil {
		return err
	}
	stopped := make(chan struct{})
	p.group.Add(lifecycle.Component{
		Name: Worker, Start: w.Start,
		Wait: func() error {
			select {
			case err := <-w.Fatal():
				return err
			case <-stopped:
				return nil
			}
		},
		Stop: func(ctx context.Context) error { defer close(stopped); return w.Stop(ctx) },
	})
	return nil
}

func (p *Process) buildGateway() error {
	conns := gateway.Deps{
		Authenticator: p.authenticator, Tokens: p.tokens, ProviderData: p.sealer, Metrics: p.opts.Metrics, Scrape: p.cfg.Telemetry.Metrics,
		Log: p.log, Ready: p.ready, Health: map[string]gateway.Conn{}, Kill: p.opts.Kill,
		Payloads: p.codec.Handler(), Authorizer: p.authorizer, Requests: p.requests,
	}
	for role, conn := range map[string]*gateway.Conn{
		Sessions: &conns.Sessions, Registry: &conns.Registry, Policy: &conns.Policy, Inference: &conns.Inference,
		Knowledge: &conns.Knowledge,
	} {
		c, err := p.dial(role, nil)
		if err != nil {
			return err
		}
		*conn = c
		if conns.Health[role], err = p.dial(role, authn.Service(Gateway)); err != nil {
			return err
		}
	}
	conns.Connections = conns.Health[Policy]
	var err error
	cfg := p.cfg.Gateway
	conns.MCP, err = mcp.New(mcp.Config{
		MaxBody: int64(cfg.MaxBody), Heartbeat: cfg.Heartbeat, WriteTimeout: cfg.WriteTimeout, URL: cfg.URL,
	}, mcp.Deps{Registry: conns.Registry, Sessions: conns.Sessions, Log: p.log})
	if err != nil {
		return err
	}
	cfg.MCPLogin = p.cfg.Identity.MCPLogin
	cfg.Issuers, cfg.Scopes = p.cfg.Identity.authorization()
	if conns.Login, err = p.newLogin(conns.Health[Policy]); err != nil {
		return err
	}
	if err := reachTemporalUI(p.cfg.Temporal, &cfg, &conns); err != nil {
		return err
	}
	g, err := gateway.New(cfg, conns)
	if err != nil {
		return err
	}
	p.addGateway(g)
	p.serveTemporalUI(g)
	return nil
}

// addGateway adds the gateway's server.
func (p *Process) addGateway(g *gateway.Gateway) {
	var done chan error
	withdraw := func() error { return nil }
	p.group.Add(lifecycle.Component{
		Name: Gateway,
		Start: func(context.Context) error {
			l, err := p.httpListener()
			if err != nil {
				return err
			}
			if file := p.cfg.Identity.TokenFile; file != "" {
				if withdraw, err = accesstoken.Announce(file, l.Addr()); err != nil {
					return err
				}
			}
			done = make(chan error, 1)
			go func() { done <- g.Serve(l) }()
			return nil
		},
		Wait: func() error { return <-done },
		Stop: func(ctx context.Context) error { return errors.Join(withdraw(), g.Stop(ctx)) },
	})
}

func (p *Process) httpListener() (net.Listener, error) {
	if p.opts.HTTP != nil {
		return p.opts.HTTP, nil
	}
	l, err := net.Listen("tcp", p.cfg.Gateway.Addr)
	if err != nil {
		return nil, fmt.Errorf("cannot listen on gateway.addr %s (is another process using the port?): %w", p.cfg.Gateway.Addr, err)
	}
	p.opts.HTTP = l
	return l, nil
}

// addServer serves the process's gRPC services: on the network for each role, and on the extra listeners.
func (p *Process) addServer(parts []component) {
	callable := slices.DeleteFunc(slices.Clone(parts), func(c component) bool { return c.role == Bus || c.role == Gateway })
	if len(callable) == 0 && len(p.opts.Extra) == 0 {
		return // callers only
	}
	var done chan error
	p.group.Add(lifecycle.Component{
		Name: "grpc",
		Start: func(context.Context) error {
			listeners := p.opts.Extra
			for _, c := range callable {
				l, err := p.opts.Network.Listen(c.role)
				if err != nil {
					return err
				}
				listeners = append(listeners, l)
			}
			done = make(chan error, 1)
			go func() { done <- p.server.Serve(listeners...) }()
			return nil
		},
		Wait: func() error { return <-done },
		Stop: func(ctx context.Context) error { p.server.Stop(ctx); return nil },
	})
}
