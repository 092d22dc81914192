package property

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"testing"
	"time"

	"google.golang.org/grpc"

	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/bus"
	"github.com/windlass-dev/windlass/libs/config"
	"github.com/windlass-dev/windlass/libs/egress"
	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/rpc"
	"github.com/windlass-dev/windlass/libs/rpc/rpctest"
	"github.com/windlass-dev/windlass/libs/sqldb"
	executionv1 "github.com/windlass-dev/windlass/proto/gen/windlass/execution/v1"
	mcpbridgev1 "github.com/windlass-dev/windlass/proto/gen/windlass/mcpbridge/v1"
	policyv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policy/v1"
	policyeventsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policyevents/v1"
	registryv1 "github.com/windlass-dev/windlass/proto/gen/windlass/registry/v1"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	"github.com/windlass-dev/windlass/services/inference"
	"github.com/windlass-dev/windlass/services/inference/catalog"
	"github.com/windlass-dev/windlass/services/policy"
	"github.com/windlass-dev/windlass/services/registry"
	"github.com/windlass-dev/windlass/services/registry/agents"
	"github.com/windlass-dev/windlass/services/sessions"
	"github.com/windlass-dev/windlass/services/sessions/outbox"
	"github.com/windlass-dev/windlass/services/sessions/schedule"
	"github.com/windlass-dev/windlass/test/harness"
)

// expiry is how long an approval may be decided.
const expiry = 20 * time.Second

// maxQueued bounds the turns of a session that are not over.
const maxQueued = 4

// sweeps is how often the sessions service looks after what is due.
const sweeps = 5 * time.Second

// engine is where services keep their tables.
type engine struct {
	name string
	// replicas is how many of each service share them.
	replicas int
	// url names the database of a service.
	url func(service string) string
	// maxConns bounds the pool of each replica of each service, 0 = the default.
	maxConns int
	// power is what the services' files are on, nil for a machine that never fails.
	power *power
}

// mesh is all that a turn needs, in one process and without Temporal: the services themselves, reached through gRPC in memory.
type mesh struct {
	t      testing.TB
	engine engine
	ring   *authn.Keyring
	bus    *bus.Bus
	// conns lead to the replicas of all services but sessions.
	conns   []grpc.ClientConnInterface
	egress  *egress.Egress
	effects *effects
	heard   *heard

	homes []*home // the replicas of sessions
	links []*link // to them
	dice  *dice   // picks replicas
	user  clients
	exec  executionv1.ExecutionServiceClient
	// sequence counts the sequences.
	sequence int
	// happened counts what the sequences came to.
	happened map[string]int
}

// clients are those of a user.
type clients struct {
	agents    sessionsv1.AgentServiceClient
	sessions  sessionsv1.SessionServiceClient
	turns     sessionsv1.TurnServiceClient
	approvals sessionsv1.ApprovalServiceClient
	budgets   sessionsv1.BudgetServiceClient
	tools     registryv1.ToolServiceClient
}

func newMesh(t testing.TB, e engine) *mesh {
	t.Helper()
	m := &mesh{t: t, engine: e, effects: newEffects(), heard: newHeard(), dice: newDice(), happened: map[string]int{}}
	if e.power != nil {
		m.effects.around = e.power.act
	}
	var err error
	m.ring, err = authn.NewKeyring(authn.NewKey())
	harness.Must(t, err)
	m.bus, err = bus.Open(t.Context(), bus.Config{URL: bus.Embedded})
	harness.Must(t, err)
	t.Cleanup(func() { harness.Must(t, m.bus.Close(context.Background())) })
	m.egress, err = egress.New(egress.Config{Profile: egress.Local})
	harness.Must(t, err)
	for range e.replicas {
		m.conns = append(m.conns, m.serve())
	}
	_, err = registryv1.NewSourceServiceClient(as{m.conns[0], authn.Local()}).CreateSource(t.Context(), &registryv1.CreateSourceRequest{
		Source: &registryv1.Source{Name: "x", Kind: "mcp", Url: "http://127.0.0.1:1/mcp"},
	})
	if fault.CodeOf(err) != "already_exists" { // it is on what a machine has left
		harness.Must(t, err)
	}
	for i := range e.replicas {
		m.links = append(m.links, &link{})
		m.homes = append(m.homes, m.open(i))
	}
	t.Cleanup(func() {
		for _, h := range m.homes {
			h.stop(t)
		}
	})
	conn := as{&spread{links: m.links, dice: m.dice}, authn.Local()}
	m.user = clients{
		sessionsv1.NewAgentServiceClient(conn), sessionsv1.NewSessionServiceClient(conn), sessionsv1.NewTurnServiceClient(conn),
		sessionsv1.NewApprovalServiceClient(conn), sessionsv1.NewBudgetServiceClient(conn),
		registryv1.NewToolServiceClient(as{m.conns[0], authn.Local()}),
	}
	m.exec = executionv1.NewExecutionServiceClient(as{m.links[0], authn.Service("worker")})
	return m
}

// serve starts a replica of everything but sessions, and gives a connection to it.
func (m *mesh) serve() grpc.ClientConnInterface {
	t := m.t
	server := newServer(t, m.ring)
	conn := server.dial(t, nil)
	t.Cleanup(func() { server.stop(t) })
	rules, err := policy.New(policy.DefaultConfig(), policy.Deps{DB: m.db("policy", true), Log: discard()})
	harness.Must(t, err)
	lease := time.Hour
	if m.engine.power != nil { // a registry without power does not extend its leases
		lease = 5 * time.Second
	}
	tools, err := registry.New(registry.Config{
		SyncEvery: 24 * time.Hour, LeaseTTL: lease, Cache: registry.CacheConfig{Disabled: true},
	}, registry.Deps{
		DB: m.db("registry", true), Policy: policyv1.NewPolicyServiceClient(as{conn, authn.Service("registry")}),
		Bridge: mcpbridgev1.NewBridgeServiceClient(as{conn, authn.Service("registry")}), Egress: m.egress,
		Artifacts: noArtifacts{}, Log: discard(),
		Sessions: sessionsv1.NewSessionServiceClient(conn), Agents: sessionsv1.NewAgentServiceClient(conn),
		AgentCalls: agents.Client{
			Agents: sessionsv1.NewAgentServiceClient(conn), Sessions: sessionsv1.NewSessionServiceClient(conn),
			Turns: sessionsv1.NewTurnServiceClient(conn),
		},
	})
	harness.Must(t, err)
	models, err := inference.New(t.Context(), config.Default[inference.Config](), inference.Deps{Deps: catalog.Deps{
		Egress: m.egress, Log: discard(), Getenv: noEnv,
	}})
	harness.Must(t, err)
	rules.Register(server)
	tools.Register(server)
	models.Register(hearing{server, m.heard})
	mcpbridgev1.RegisterBridgeServiceServer(server, m.effects)
	server.start(t)
	run(t, tools.Run)
	return conn
}

// db opens a service's database for one replica. With keep it is closed when the test ends.
func (m *mesh) db(service string, keep bool) *sqldb.DB {
	m.t.Helper()
	cfg := sqldb.Config{URL: m.engine.url(service), Schema: service, MaxConns: m.engine.maxConns, Now: time.Now}
	if p := m.engine.power; p != nil {
		cfg.Flush = func(*os.File) error { return p.flush(service) }
	}
	db, err := sqldb.Open(context.Background(), cfg)
	harness.Must(m.t, err)
	if keep {
		m.t.Cleanup(func() { harness.Must(m.t, db.Close()) })
	}
	return db
}

// home is a sessions service that can be stopped.
type home struct {
	opened time.Time
	db     *sqldb.DB
	server *server
	cancel context.CancelFunc
	done   chan error
}

// open starts a replica of the sessions service on what its database holds, and has its link lead to it.
func (m *mesh) open(replica int) *home {
	t := m.t
	h := &home{opened: time.Now(), db: m.db("sessions", false), server: newServer(t, m.ring), done: make(chan error, 1)}
	conn := m.conns[replica]
	svc, err := sessions.New(sessions.Config{SweepInterval: sweeps, MaxQueuedTurns: maxQueued, LostAfter: 24 * time.Hour}, sessions.Deps{
		DB: h.db, Bus: m.bus, Dispatcher: dispatcher{}, Registry: registryv1.NewSourceServiceClient(as{conn, authn.Service("sessions")}),
		Policy:       policyv1.NewPolicyServiceClient(as{conn, authn.Service("sessions")}),
		Ledger:       registryv1.NewToolExecutionServiceClient(as{conn, authn.Service("sessions")}),
		Events:       registryv1.NewEventLogServiceClient(as{conn, authn.Service("sessions")}),
		PolicyEvents: policyeventsv1.NewEventLogServiceClient(as{conn, authn.Service("sessions")}),
		Egress:       m.egress, Getenv: noEnv, Log: discard(),
	})
	harness.Must(t, err)
	svc.Register(h.server)
	h.server.start(t)
	var ctx context.Context
	ctx, h.cancel = context.WithCancel(context.Background())
	go func() { h.done <- svc.Run(ctx) }()
	m.links[replica].set(h.server.dial(t, nil))
	return h
}

func (h *home) stop(t testing.TB) {
	h.cancel()
	harness.Must(t, <-h.done)
	h.server.stop(t)
	harness.Must(t, h.db.Close())
}

// align waits until the service's sweeps are as far as they are at its start, so that a sequence meets them at the same places each time.
func (m *mesh) align() {
	time.Sleep(sweeps - time.Since(m.homes[0].opened)%sweeps)
}

// restart stops a replica of the sessions service and starts it again.
func (m *mesh) restart(replica int) {
	m.homes[replica].stop(m.t)
	m.homes[replica] = m.open(replica)
}

// dispatcher takes every turn and does nothing: the test is what drives turns.
type dispatcher struct{}

func (dispatcher) Start(context.Context, outbox.Turn) error        { return nil }
func (dispatcher) Cancel(context.Context, string) error            { return nil }
func (dispatcher) Wake(context.Context, outbox.Turn) (bool, error) { return true, nil }
func (dispatcher) State(context.Context, string) (outbox.WorkflowState, error) {
	return outbox.WorkflowOpen, nil
}

func (dispatcher) CheckWorkers(context.Context) error                    { return nil }
func (dispatcher) PutSchedule(context.Context, schedule.Timetable) error { return nil }
func (dispatcher) Forget(context.Context, string) error                  { return nil }
func (dispatcher) DropSchedule(context.Context, string, string) error    { return nil }

type noArtifacts struct{}

func (noArtifacts) ReadArtifact(context.Context, *sessionsv1.ReadArtifactRequest, ...grpc.CallOption) (*sessionsv1.ReadArtifactResponse,
	error,
) {
	return nil, fmt.Errorf("there are no artifacts here")
}

// server is one gRPC server in memory.
type server struct {
	*rpc.Server
	ring    *authn.Keyring
	network *rpc.Memory
	done    chan error
	conns   []rpc.Conn
}

func newServer(t testing.TB, ring *authn.Keyring) *server {
	t.Helper()
	srv, err := rpc.NewServer(rpc.ServerConfig{Log: discard(), Keyring: ring, Authorizer: rpctest.AllowAll{}, Track: sqldb.Track})
	harness.Must(t, err)
	return &server{Server: srv, ring: ring, network: rpc.NewMemory(), done: make(chan error, 1)}
}

func (s *server) start(t testing.TB) {
	t.Helper()
	harness.Must(t, s.Prepare())
	l, err := s.network.Listen("mesh")
	harness.Must(t, err)
	go func() { s.done <- s.Serve(l) }()
}

func (s *server) dial(t testing.TB, p *policyv1.Principal) rpc.Conn {
	t.Helper()
	conn, err := rpc.Dial(s.network, "mesh", rpc.ClientConfig{Keyring: s.ring, As: p})
	harness.Must(t, err)
	s.conns = append(s.conns, conn)
	return conn
}

func (s *server) stop(t testing.TB) {
	for _, conn := range s.conns {
		harness.Must(t, conn.Close())
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	s.Stop(ctx)
	harness.Must(t, <-s.done)
}

// run runs f until the test ends.
func run(t testing.TB, f func(context.Context) error) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- f(ctx) }()
	t.Cleanup(func() {
		cancel()
		harness.Must(t, <-done)
	})
}

func noEnv(string) string { return "" }

func discard() *slog.Logger { return slog.New(slog.DiscardHandler) }
