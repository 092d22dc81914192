package sessions_test

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"

	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/bus"
	"github.com/windlass-dev/windlass/libs/egress"
	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/quota"
	"github.com/windlass-dev/windlass/libs/rpc"
	"github.com/windlass-dev/windlass/libs/rpc/rpctest"
	"github.com/windlass-dev/windlass/libs/sqldb"
	"github.com/windlass-dev/windlass/libs/testdb"
	"github.com/windlass-dev/windlass/libs/testmain"
	"github.com/windlass-dev/windlass/libs/testpg"
	"github.com/windlass-dev/windlass/libs/testpoll"
	executionv1 "github.com/windlass-dev/windlass/proto/gen/windlass/execution/v1"
	policyv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policy/v1"
	registryv1 "github.com/windlass-dev/windlass/proto/gen/windlass/registry/v1"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	"github.com/windlass-dev/windlass/services/sessions"
	"github.com/windlass-dev/windlass/services/sessions/agent"
	"github.com/windlass-dev/windlass/services/sessions/outbox"
	"github.com/windlass-dev/windlass/services/sessions/rerun"
	"github.com/windlass-dev/windlass/services/sessions/schedule"
	"github.com/windlass-dev/windlass/services/sessions/sessionstest"
	"github.com/windlass-dev/windlass/services/sessions/store"
	"github.com/windlass-dev/windlass/workflows/contract"
)

// must ends a test with an error.
var must = sessionstest.Must

func TestMain(m *testing.M) { testmain.Verify(testpg.Main{M: m}) }

// kit is a running sessions service and its clients.
type kit struct {
	t          testing.TB
	svc        *sessions.Service
	conn       rpc.Conn
	agents     sessionsv1.AgentServiceClient
	sessions   sessionsv1.SessionServiceClient
	turns      sessionsv1.TurnServiceClient
	exec       executionv1.ExecutionServiceClient
	approvals  sessionsv1.ApprovalServiceClient
	dispatcher *dispatcher
	sources    *sources
	policy     *policyFake
	bus        *bus.Bus
	db         *sqldb.DB
	ledger     *ledgerFake
}

// options of a kit; the zero value is SQLite and an embedded bus.
type options struct {
	cfg      sessions.Config
	postgres bool
	bus      *bus.Bus
	db       *sqldb.DB
	conns    int  // connections to PostgreSQL, one by default: a statement outside of an open transaction hangs then
	idle     bool // Run is not called
	env      map[string]string
	profile  string // of egress, local by default
	ledger   *ledgerFake
	log      io.Writer // what is logged, nothing by default
	models   rerun.ModelResolver
	chains   agent.ChainResolver
	groups   registryv1.ToolGroupServiceClient
	events   *sessionstest.Registry
	quotas   quota.Authorizer
}

func (o options) getenv() func(string) string {
	return func(name string) string { return o.env[name] }
}

// tables are copied for each test.
var tables = testdb.New("sessions", func(ctx context.Context, db *sqldb.DB) error {
	_, err := store.Open(ctx, db)
	return err
})

func newKit(t testing.TB, o options) *kit {
	t.Helper()
	k := &kit{
		t: t, dispatcher: &dispatcher{}, sources: &sources{byName: map[string]*registryv1.Source{}}, bus: o.bus, db: o.db,
		policy: &policyFake{}, ledger: cmp.Or(o.ledger, &ledgerFake{}),
	}
	if k.db == nil {
		k.db = openDB(t, o.postgres, cmp.Or(o.conns, 1))
	}
	if k.bus == nil {
		k.bus = openBus(t, bus.Config{URL: bus.Embedded})
	}
	out, err := egress.New(egress.Config{Profile: cmp.Or(o.profile, egress.Local)})
	must(t, err)
	t.Cleanup(out.CloseIdle)
	log := slog.New(slog.DiscardHandler)
	if o.log != nil {
		log = slog.New(slog.NewTextHandler(o.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	}
	k.svc, err = sessions.New(o.cfg, sessions.Deps{
		DB: k.db, Bus: k.bus, Dispatcher: k.dispatcher, Registry: k.sources, Policy: k.policy, Ledger: k.ledger, Models: o.models,
		Chains: o.chains,
		Events: cmp.Or(o.events, &sessionstest.Registry{}), PolicyEvents: &sessionstest.Registry{},
		Groups: o.groups, Prompts: promptsFake{},
		Egress: out, Getenv: o.getenv(), Log: log,
		Quotas: quota.Reader{Authorizer: o.quotas},
	})
	must(t, err)
	if !o.idle {
		ctx, cancel := context.WithCancel(context.Background())
		done := make(chan error, 1)
		go func() { done <- k.svc.Run(ctx) }()
		t.Cleanup(func() {
			cancel()
			must(t, <-done)
		})
	}
	k.conn = rpctest.Serve(t, "sessions", k.svc.Register)
	k.agents, k.sessions = sessionsv1.NewAgentServiceClient(k.conn), sessionsv1.NewSessionServiceClient(k.conn)
	k.turns, k.exec = sessionsv1.NewTurnServiceClient(k.conn), executionv1.NewExecutionServiceClient(k.conn)
	k.approvals = sessionsv1.NewApprovalServiceClient(k.conn)
	if !o.idle && k.bus.Connected() { // a service that starts makes the bus keep deltas in the background
		testpoll.Until(t, "the bus keeps deltas", func() bool {
			_, err := k.bus.Kept(t.Context(), contract.DeltaSubject("default", "none"))
			return err == nil
		})
	}
	return k
}

func openDB(t testing.TB, postgres bool, conns int) *sqldb.DB {
	t.Helper()
	if postgres {
		return openURL(t, tables.Postgres(t), conns)
	}
	return openURL(t, tables.SQLite(t), 0)
}

func openURL(t testing.TB, url string, conns int) *sqldb.DB {
	t.Helper()
	db, err := sqldb.Open(t.Context(), sqldb.Config{URL: url, Schema: "sessions", MaxConns: conns})
	must(t, err)
	t.Cleanup(func() { must(t, db.Close()) })
	return db
}

func openBus(t testing.TB, cfg bus.Config) *bus.Bus {
	t.Helper()
	b, err := bus.Open(t.Context(), cfg)
	must(t, err)
	t.Cleanup(func() { must(t, b.Close(context.Background())) })
	return b
}

// as returns clients that call as somebody else.
func (k *kit) as(p *policyv1.Principal) sessionsv1.TurnServiceClient {
	return sessionsv1.NewTurnServiceClient(rpctest.ServeAs(k.t, "sessions", k.svc.Register, rpctest.WithPrincipal(p)))
}

// asWorker returns the client of a worker.
func (k *kit) asWorker() executionv1.ExecutionServiceClient {
	return executionv1.NewExecutionServiceClient(rpctest.ServeAs(k.t, "sessions", k.svc.Register,
		rpctest.WithPrincipal(authn.Service("worker"))))
}

func (k *kit) agent(id string) {
	k.t.Helper()
	_, err := k.agents.CreateAgent(k.t.Context(), &sessionsv1.CreateAgentRequest{Agent: &sessionsv1.Agent{Id: id, Tools: []string{"*"}}})
	must(k.t, err)
}

func (k *kit) session() *sessionsv1.Session {
	k.t.Helper()
	ses, err := k.sessions.CreateSession(k.t.Context(), &sessionsv1.CreateSessionRequest{})
	must(k.t, err)
	return ses
}

func (k *kit) turn(session, input string) *sessionsv1.Turn {
	k.t.Helper()
	turn, err := k.turns.CreateTurn(k.t.Context(), &sessionsv1.CreateTurnRequest{SessionId: session, Input: input})
	must(k.t, err)
	return turn
}

// newTurn makes agent, session and turn.
func (k *kit) newTurn(input string) *sessionsv1.Turn {
	k.t.Helper()
	k.agent("assistant")
	return k.turn(k.session().GetId(), input)
}

// dispatcher remembers what it was asked to start.
type dispatcher struct {
	mu      sync.Mutex
	starts  []outbox.Turn
	cancels []string
	wakes   []outbox.Turn
	state   outbox.WorkflowState
	fail    error
	workers error // of CheckWorkers
	changed chan struct{}
	// timetables are the schedules by id.
	timetables map[string]schedule.Timetable
	// forgotten are the turns whose workflow was to be deleted.
	forgotten []string
}

func (d *dispatcher) Start(_ context.Context, start outbox.Turn) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.fail != nil {
		return d.fail
	}
	d.starts = append(d.starts, start)
	d.tell()
	return nil
}

func (d *dispatcher) Cancel(_ context.Context, turnID string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.cancels = append(d.cancels, turnID)
	d.tell()
	return nil
}

func (d *dispatcher) Wake(_ context.Context, start outbox.Turn) (bool, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.tell()
	if d.fail != nil {
		return false, d.fail
	}
	d.wakes = append(d.wakes, start)
	return d.state == 0 || d.state == outbox.WorkflowOpen, nil
}

func (d *dispatcher) CheckWorkers(context.Context) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.workers
}

func (d *dispatcher) State(context.Context, string) (outbox.WorkflowState, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.state == 0 {
		return outbox.WorkflowOpen, nil
	}
	return d.state, nil
}

func (d *dispatcher) PutSchedule(_ context.Context, t schedule.Timetable) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.tell()
	if d.fail != nil {
		return d.fail
	}
	if d.timetables == nil {
		d.timetables = map[string]schedule.Timetable{}
	}
	d.timetables[t.ScheduleID] = t
	return nil
}

func (d *dispatcher) Forget(_ context.Context, turn string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.tell()
	if d.fail != nil {
		return d.fail
	}
	d.forgotten = append(d.forgotten, turn)
	return nil
}

func (d *dispatcher) DropSchedule(_ context.Context, _, id string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.tell()
	if d.fail != nil {
		return d.fail
	}
	delete(d.timetables, id)
	return nil
}

func (d *dispatcher) tell() {
	if d.changed != nil {
		close(d.changed)
		d.changed = nil
	}
}

func (d *dispatcher) set(f func(*dispatcher)) {
	d.mu.Lock()
	defer d.mu.Unlock()
	f(d)
}

// await waits until ok holds; ok is called with the lock held.
func (d *dispatcher) await(t testing.TB, ok func(*dispatcher) bool) {
	t.Helper()
	limit := time.NewTimer(time.Minute)
	defer limit.Stop()
	for {
		d.mu.Lock()
		if ok(d) {
			d.mu.Unlock()
			return
		}
		if d.changed == nil {
			d.changed = make(chan struct{})
		}
		changed := d.changed
		d.mu.Unlock()
		select {
		case <-changed:
		case <-limit.C:
			t.Fatal("the dispatcher was not called as expected in 20s")
		}
	}
}

// woken reports whether a turn's workflow was told of news by somebody who could have started it just as well.
func (d *dispatcher) woken(turn string) bool {
	return slices.ContainsFunc(d.wakes, func(w outbox.Turn) bool { return w.TurnID == turn && slices.Contains(d.starts, w) })
}

func (d *dispatcher) started(turn string) bool {
	return slices.ContainsFunc(d.starts, func(s outbox.Turn) bool { return s.TurnID == turn })
}

// sources is a registry in memory.
type sources struct {
	registryv1.SourceServiceClient
	mu     sync.Mutex
	byName map[string]*registryv1.Source
}

func (s *sources) GetSource(_ context.Context, req *registryv1.GetSourceRequest, _ ...grpc.CallOption) (*registryv1.Source, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if src, ok := s.byName[req.GetSourceId()]; ok {
		return src, nil
	}
	return nil, fault.NotFound("source %q does not exist", req.GetSourceId())
}

func (s *sources) CreateSource(_ context.Context, req *registryv1.CreateSourceRequest, _ ...grpc.CallOption) (*registryv1.Source, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	src := req.GetSource()
	if src.GetUrl() == "" && len(src.GetCommand()) == 0 {
		return nil, fault.Invalid("source.url", "give exactly one of url and command")
	}
	if req.GetValidateOnly() {
		return src, nil
	}
	if s.byName[src.GetName()] != nil {
		return nil, fault.AlreadyExists("source %q exists already", src.GetName())
	}
	src.Id, src.Revision, src.State, src.LastError = "src_1", 1, registryv1.SourceState_SOURCE_STATE_UNREACHABLE, "connection refused"
	s.byName[src.GetName()] = src
	return src, nil
}

func (s *sources) UpdateSource(_ context.Context, req *registryv1.UpdateSourceRequest, _ ...grpc.CallOption) (*registryv1.Source, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	src := req.GetSource()
	if req.GetValidateOnly() {
		return src, nil
	}
	src.Revision = s.byName[src.GetName()].GetRevision() + 1
	s.byName[src.GetName()] = src
	return src, nil
}

// wantFault checks code and fields of an error.
func wantFault(t testing.TB, err error, code string, fields ...string) {
	t.Helper()
	if got := fault.CodeOf(err); got != code {
		t.Fatalf("code %q, want %q (%v)", got, code, err)
	}
	var got []string
	for _, f := range fault.From(err).Fields {
		got = append(got, f.Path)
	}
	if fmt.Sprint(got) != fmt.Sprint(fields) {
		t.Fatalf("fields %q, want %q (%v)", got, fields, err)
	}
}
