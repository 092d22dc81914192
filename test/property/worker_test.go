package property

import (
	"context"
	"errors"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	executionv1 "github.com/windlass-dev/windlass/proto/gen/windlass/execution/v1"
	inferencev1 "github.com/windlass-dev/windlass/proto/gen/windlass/inference/v1"
	policyv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policy/v1"
	registryv1 "github.com/windlass-dev/windlass/proto/gen/windlass/registry/v1"
	"github.com/windlass-dev/windlass/test/harness"
	"github.com/windlass-dev/windlass/workflows/contract"
	"github.com/windlass-dev/windlass/workflows/turn/step/runner"
)

// leaseTTL is that of the workers.
const leaseTTL = 2 * time.Second

var errDead = status.Error(codes.FailedPrecondition, "this worker is dead")

// gate lets a worker pass so many times. Each call passes it twice: before it leaves, and before its answer is taken. So a worker can be
// stopped, frozen or killed at either side of everything that others can see of it.
type gate struct {
	mu      sync.Mutex
	left    int
	open    bool // as often as it likes
	dead    bool
	changed chan struct{}
}

func newGate() *gate { return &gate{changed: make(chan struct{})} }

func (g *gate) set(change func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	change()
	close(g.changed)
	g.changed = make(chan struct{})
}

// pass waits until the worker may go on.
func (g *gate) pass(ctx context.Context) error {
	for {
		g.mu.Lock()
		changed := g.changed
		switch {
		case g.dead:
			g.mu.Unlock()
			return errDead
		case g.open || g.left > 0:
			g.left--
			g.mu.Unlock()
			return nil
		}
		g.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
			return status.FromContextError(ctx.Err()).Err()
		}
	}
}

// answer waits until the worker may take an answer. One whose call is over takes it at once, unless the worker is dead.
func (g *gate) answer(ctx context.Context) error {
	if err := g.pass(ctx); errors.Is(err, errDead) {
		return err
	}
	return nil
}

// gated is a connection behind a gate.
type gated struct {
	grpc.ClientConnInterface
	gate *gate
}

// Invoke implements grpc.ClientConnInterface.
func (c gated) Invoke(ctx context.Context, method string, args, reply any, opts ...grpc.CallOption) error {
	if err := c.gate.pass(ctx); err != nil {
		return err
	}
	err := c.ClientConnInterface.Invoke(ctx, method, args, reply, opts...)
	if dead := c.gate.answer(ctx); dead != nil {
		return dead
	}
	return err
}

// NewStream implements grpc.ClientConnInterface.
func (c gated) NewStream(ctx context.Context, desc *grpc.StreamDesc, method string, opts ...grpc.CallOption) (grpc.ClientStream, error) {
	if err := c.gate.pass(ctx); err != nil {
		return nil, err
	}
	s, err := c.ClientConnInterface.NewStream(ctx, desc, method, opts...)
	return &gatedStream{ClientStream: s, gate: c.gate}, err
}

// gatedStream passes the gate before its first message is read.
type gatedStream struct {
	grpc.ClientStream
	gate *gate
	read bool
}

// RecvMsg implements grpc.ClientStream.
func (s *gatedStream) RecvMsg(m any) error {
	err := s.ClientStream.RecvMsg(m)
	if s.read {
		return err
	}
	s.read = true
	if dead := s.gate.answer(s.Context()); dead != nil {
		return dead
	}
	return err
}

// worker runs ahead through one turn, as far as its gate lets it.
type worker struct {
	turn   *turn
	gate   *gate
	news   chan struct{}
	cancel context.CancelFunc
	done   chan struct{}
	err    error // once done
}

// work begins to work on a turn.
func (m *mesh) work(name string, t *turn) *worker {
	w := &worker{turn: t, gate: newGate(), news: make(chan struct{}, 1), done: make(chan struct{})}
	conn := gated{m.conns[m.dice.of(len(m.conns))], w.gate}
	var home grpc.ClientConnInterface = gated{m.links[m.dice.of(len(m.links))], w.gate}
	if p := m.engine.power; p != nil {
		home = answers{home, p}
	}
	r, err := runner.New(runner.Config{Owner: name, LeaseTTL: leaseTTL}, runner.Deps{
		Sessions: executionv1.NewExecutionServiceClient(home), Tools: registryv1.NewToolExecutionServiceClient(conn),
		Inference: inferencev1.NewInferenceServiceClient(conn), Shields: policyv1.NewPolicyServiceClient(conn), Bus: m.bus, Log: discard(),
	})
	harness.Must(m.t, err)
	var ctx context.Context
	ctx, w.cancel = context.WithCancel(context.Background())
	go func() {
		defer close(w.done)
		_, w.err = r.Advance(ctx, contract.TurnInput{Tenant: "default", TurnID: t.id, SessionID: t.session.id, AgentID: t.session.agent}, w.news)
	}()
	return w
}

// over reports whether it has come to its end.
func (w *worker) over() bool {
	select {
	case <-w.done:
		return true
	default:
		return false
	}
}

// allow lets it pass its gate n times more, for ever if n is 0.
func (w *worker) allow(n int) {
	w.gate.set(func() { w.gate.left, w.gate.open = max(w.gate.left, 0)+n, n == 0 })
}

// tell says that the journal has news.
func (w *worker) tell() {
	select {
	case w.news <- struct{}{}:
	default:
	}
}

// crash ends it: nothing it does from now on is seen by anybody.
func (w *worker) crash() {
	w.gate.set(func() { w.gate.dead = true })
	w.cancel()
}
