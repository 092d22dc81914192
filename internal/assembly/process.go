package assembly

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/authz"
	"github.com/windlass-dev/windlass/libs/bus"
	"github.com/windlass-dev/windlass/libs/callertoken"
	"github.com/windlass-dev/windlass/libs/egress"
	"github.com/windlass-dev/windlass/libs/lifecycle"
	"github.com/windlass-dev/windlass/libs/metrics"
	"github.com/windlass-dev/windlass/libs/probe"
	"github.com/windlass-dev/windlass/libs/providerdata"
	"github.com/windlass-dev/windlass/libs/quota"
	"github.com/windlass-dev/windlass/libs/rpc"
	"github.com/windlass-dev/windlass/libs/sealedresult"
	"github.com/windlass-dev/windlass/libs/sqldb"
	"github.com/windlass-dev/windlass/libs/telemetry"
	policyv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policy/v1"
	"github.com/windlass-dev/windlass/workflows/temporal"
)

// callerPatience is how long a user's call waits for a role that is restarting. Calls between roles wait longer.
const callerPatience = 8 * time.Second

// Options configure one process.
type Options struct {
	// Config is complete; see Load.
	Config Config
	// Roles of this process.
	Roles []string
	// Network connects the roles with each other and with other processes.
	Network rpc.Network
	// Extra are additional listeners that serve the process's gRPC services.
	Extra []net.Listener
	// HTTP is the gateway's listener; nil makes it listen on gateway.addr.
	HTTP net.Listener
	// TemporalUI is the listener of Temporal's UI; nil makes the gateway listen on temporal.ui_proxy.addr.
	TemporalUI net.Listener
	// Issuer is the URL of an identity provider that runs in this process; "" = none.
	Issuer string
	// Log and Metrics come from package telemetry.
	Log     *slog.Logger
	Metrics http.Handler
	// Kill ends the process as SIGKILL does; see gateway.Deps.
	Kill func()
	// Getenv reads the environment, to detect model providers.
	Getenv func(string) string
	// Slow is called with the name of a part whose stop takes longer than a second; nil = no one asks.
	Slow func(part string)
}

// Process is a set of roles that start, run and stop together.
type Process struct {
	// Loopback says that programs of the process's user need no token on this machine.
	Loopback bool

	opts    Options
	cfg     Config
	log     *slog.Logger
	group   lifecycle.Group
	ring    *authn.Keyring
	sealer  *providerdata.Sealer
	results *sealedresult.Sealer
	tokens  *callertoken.Sealer
	egress  *egress.Egress
	// issuers is the egress for calls of identity providers. It also reaches the one that runs in this process, which sources must not.
	issuers *egress.Egress
	server  *rpc.Server
	ctx     context.Context // bounds the building of components only

	bus        *bus.Bus
	temporal   temporal.Client
	codec      *temporal.Codec
	databases  map[string]*sqldb.DB
	conns      map[string]rpc.Conn
	authorizer *authorizer
	requests   *quota.Counter
	auditor    *auditor
	// authenticator is for callers from outside the mesh.
	authenticator *authn.Authenticator
	// flush completes what was answered before it was written; nil = nothing.
	flush func(context.Context) error
	// ready holds the checks of /readyz, and checker runs them.
	ready   map[string]probe.Check
	checker *probe.Checker
	// stopping is set when the process is asked to stop.
	stopping atomic.Bool
	// observed are the metrics of what roles share; nil before they are built.
	observed *metrics.Observed
}

// New wires the roles. It opens and migrates databases, so their errors appear here, but runs nothing yet.
func New(ctx context.Context, opts Options) (*Process, error) {
	parts, err := selected(opts.Roles)
	if err != nil {
		return nil, err
	}
	p := &Process{
		opts: opts, cfg: opts.Config, log: opts.Log, ctx: ctx,
		authorizer: &authorizer{}, auditor: &auditor{},
		databases: map[string]*sqldb.DB{}, conns: map[string]rpc.Conn{}, ready: map[string]probe.Check{},
	}
	p.group.Log, p.group.Slow, p.group.Linger = opts.Log, opts.Slow, p.linger
	if p.cfg.Mesh.LameDuck > 0 {
		p.ready["stopping"] = p.checkStopping
	}
	p.checker = probe.NewChecker(opts.Log, func() map[string]probe.Check { return p.ready })
	if err := p.build(parts); err != nil {
		return nil, errors.Join(err, p.release(context.WithoutCancel(ctx)))
	}
	return p, nil
}

func (p *Process) build(parts []component) error {
	var errs [4]error
	p.ring, errs[0] = authn.NewKeyring([]byte(p.cfg.Mesh.Key.Reveal()))
	p.sealer, errs[1] = providerdata.NewSealer(p.cfg.Mesh.Key)
	p.results, errs[2] = sealedresult.New(p.cfg.Mesh.Key)
	p.tokens, errs[3] = callertoken.NewSealer(p.cfg.Mesh.Key)
	err := cmp.Or(errs[:]...)
	if err != nil {
		return fmt.Errorf("mesh.key: %w", err)
	}
	if p.codec, err = p.cfg.Temporal.codec(p.cfg.Mesh.Key); err != nil {
		return err
	}
	if p.egress, p.issuers, err = p.cfg.Egress.buildWith(p.opts.Issuer); err != nil {
		return err
	}
	if err := p.connect(parts); err != nil {
		return err
	}
	if err := p.authorize(parts); err != nil {
		return err
	}
	if err := errors.Join(p.connectAuditor(parts), p.connectRequests(parts)); err != nil {
		return err
	}
	p.authenticator, p.Loopback, err = p.cfg.Identity.authenticator(p.ctx, p.issuers, p.log, p.auditor.login)
	if err != nil {
		return err
	}
	if err := p.cfg.Telemetry.Metrics.Check(); err != nil {
		return err
	}
	names, err := p.cfg.Mesh.names()
	if err != nil {
		return err
	}
	secured, err := p.cfg.Mesh.serverTLS(p.opts.Roles)
	if err != nil {
		return err
	}
	if p.server, err = rpc.NewServer(rpc.ServerConfig{
		Log: p.log, Keyring: p.ring, Authorizer: p.authorizer, Authenticator: p.authenticator, Hosts: names, Tokens: p.tokens,
		TLS: secured, NoReflection: !p.cfg.Mesh.Reflection, Auditor: p.auditor, Requests: p.requests, ProviderData: p.sealer,
		Track: sqldb.Track,
	}); err != nil {
		return err
	}
	probe.NewServer(p.checker).Register(p.server)
	p.addAdmin(parts, names)
	p.addServer(parts)
	for _, c := range parts {
		if err := c.build(p); err != nil {
			return fmt.Errorf("build %s: %w", c.role, err)
		}
	}
	if p.bus != nil && p.authorizer.target != nil {
		p.group.Add(background("policies", p.watchPolicies))
	}
	return errors.Join(p.observe(), p.server.Prepare())
}

// connect opens connections that the roles of the process share.
func (p *Process) connect(parts []component) error {
	var needBus, needTemporal bool
	for _, c := range parts {
		needBus, needTemporal = needBus || c.bus, needTemporal || c.temporal
	}
	if needBus {
		if err := p.openBus(); err != nil {
			return err
		}
		p.ready["bus"] = probe.Degrades(p.checkBus)
	}
	if needTemporal {
		cfg, err := p.cfg.Temporal.Client(p.log)
		if err != nil {
			return err
		}
		cfg.Codec, cfg.Tracer, cfg.Metrics = p.codec, telemetry.Tracer("temporal"), temporal.SDKMetrics()
		if p.temporal, err = temporal.Dial(p.ctx, cfg); err != nil {
			return fmt.Errorf("temporal: %w", err)
		}
		p.ready["temporal"] = probe.Degrades(p.checkTemporal)
	}
	return nil
}

// authorize sets the authorizer: the policy role if it runs here, else a client of it.
func (p *Process) authorize(parts []component) error {
	as := ""
	for _, c := range parts {
		if c.role == Policy {
			return nil // buildPolicy sets it: the role checks its own rules
		}
		if c.role != Bus {
			as = c.role
		}
	}
	if as == "" {
		return nil // the bus role only answers health checks
	}
	conn, err := p.dial(Policy, authn.Service(as))
	if err != nil {
		return err
	}
	p.authorizer.set(authz.New(policyv1.NewPolicyServiceClient(conn), authz.Config{}))
	return nil
}

// authorizer forwards to the process's authorizer, and denies everything until one is set.
type authorizer struct{ target forgetter }

// forgetter is an authorizer that caches what access policies give.
type forgetter interface {
	rpc.Authorizer
	// Forget makes the next decisions about a tenant use its present policies; an empty tenant means all.
	Forget(tenant string)
	rpc.Notifier
}

func (a *authorizer) set(to forgetter) { a.target = to }

// Decide implements rpc.Authorizer.
func (a *authorizer) Decide(ctx context.Context, pr *policyv1.Principal, permission string) (authz.Verdict, error) {
	if a.target == nil {
		return authz.Verdict{}, nil
	}
	return a.target.Decide(ctx, pr, permission)
}

// RecordDenied implements rpc.Authorizer.
func (a *authorizer) RecordDenied(ctx context.Context, pr *policyv1.Principal, permission, method string) {
	if a.target != nil {
		a.target.RecordDenied(ctx, pr, permission, method)
	}
}

// Changed implements rpc.Notifier.
func (a *authorizer) Changed() <-chan struct{} {
	if a.target == nil {
		return nil
	}
	return a.target.Changed()
}

// dial returns the process's connection to a role; with a nil as it forwards the caller's principal.
func (p *Process) dial(role string, as *policyv1.Principal) (rpc.Conn, error) {
	key := role + " as " + as.GetSubject()
	if c, ok := p.conns[key]; ok {
		return c, nil
	}
	cfg := rpc.ClientConfig{Keyring: p.ring, As: as}
	if as == nil {
		cfg.Patience = callerPatience
	}
	c, err := rpc.Dial(p.opts.Network, role, cfg)
	if err != nil {
		return nil, err
	}
	p.conns[key] = c
	return c, nil
}

// Run starts all roles, calls started, and blocks until ctx ends or a role fails; then it stops them in reverse order.
func (p *Process) Run(ctx context.Context, stopTimeout time.Duration, started func()) error {
	p.group.Add(lifecycle.Component{Name: "ready", Start: func(context.Context) error {
		p.server.SetServing(true)
		if started != nil {
			started()
		}
		return nil
	}})
	err := p.group.Run(ctx, stopTimeout)
	return errors.Join(err, p.release(context.WithoutCancel(ctx)))
}

// release closes what the roles share.
func (p *Process) release(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	if p.observed != nil {
		p.observed.Stop() // before what it reads is closed
	}
	var errs []error
	if p.flush != nil {
		errs = append(errs, p.flush(ctx))
	}
	for _, c := range p.conns {
		errs = append(errs, c.Close())
	}
	if p.temporal != nil {
		p.temporal.Close()
	}
	if p.bus != nil {
		errs = append(errs, p.bus.Close(ctx))
	}
	for _, db := range p.databases {
		errs = append(errs, db.Close())
	}
	return errors.Join(errs...)
}
