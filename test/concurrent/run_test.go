// Package concurrent lets many clients use a mesh at once while its processes are killed and frozen, and checks what they saw: their
// answers against a model (test/linear), their streams against the journal, and what tools did against the ledger.
package concurrent

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/windlass-dev/windlass/test/harness"
	"github.com/windlass-dev/windlass/test/linear"
)

// maxQueued is the limit of unfinished turns per session, low enough that clients reach it.
const maxQueued = 4

// plan is the plan of a run.
type plan struct {
	seed    uint64
	clients int
	// acts is how many things each client does; 0 is as many as it can in the duration.
	acts     int
	duration time.Duration
	// every is the number of operations between two faults.
	every int64
}

// run is one run of many clients against a system.
type run struct {
	t          testing.TB
	system     *system
	plan       plan
	recorder   *linear.Recorder
	operations atomic.Int64
	board      *board
	tools      *tools

	mu      sync.Mutex
	notes   []string
	faults  map[string]int
	watched map[string]bool
}

// agents are those that sessions are opened with.
var agents = []struct {
	id    string
	tools []string
	more  harness.JSON
}{
	{"plain", []string{"read"}, nil},
	{"busy", []string{"put", "send", "read"}, nil},
	{"careful", []string{"send", "put"}, approvals(0)},
	{"hasty", []string{"send", "put"}, approvals(2)},
	{"doubtful", []string{"doubt", "put"}, harness.JSON{"on_unknown_outcome": "park"}},
	{"poor", []string{"put", "send"}, nil},
}

// poorCalls is the budget of tool calls for all turns of the agent "poor".
const poorCalls = 12

func approvals(seconds int) harness.JSON {
	return harness.JSON{"approvals": []any{
		harness.JSON{"name": "ask", "tools": []string{"x__send"}, "allow_requester": true, "expires_seconds": seconds},
	}}
}

func toolsOf(agent string) []string {
	for _, a := range agents {
		if a.id == agent {
			return a.tools
		}
	}
	return nil
}

// play runs clients on their own system, and checks the results.
func play(t *testing.T, start func(testing.TB, *harness.Model) *system, p plan) {
	t.Helper()
	t.Logf("SEED=%d", p.seed)
	r := &run{
		t: t, plan: p, recorder: linear.NewRecorder(), board: newBoard(), faults: map[string]int{}, watched: map[string]bool{},
	}
	tools, url := newTools(t)
	r.tools = tools
	r.system = start(t, newModel(t))
	r.cast(url)
	ctx, stop := context.WithCancel(t.Context())
	if p.acts == 0 {
		ctx, stop = context.WithTimeout(t.Context(), p.duration)
	}
	defer stop()
	var all sync.WaitGroup
	for i := range p.clients {
		c := &client{run: r, number: i + 1, rest: r.system.client(t), dice: rand.New(rand.NewPCG(p.seed, uint64(i+1)))}
		all.Go(func() { c.live(ctx) })
	}
	over := make(chan struct{})
	go func() { all.Wait(); close(over) }()
	r.disturb(over, rand.New(rand.NewPCG(p.seed, 0)))
	<-over
	r.settle()
	r.judge()
}

// cast creates the agents, and the budget of one of them.
func (r *run) cast(tools string) {
	rest := r.system.client(r.t)
	rest.Must("POST", "/v1/sources", harness.JSON{"name": "x", "kind": "mcp", "url": tools})
	for _, a := range agents {
		body := harness.JSON{"id": a.id, "tools": []string{"x__*"}}
		maps.Copy(body, a.more)
		rest.Must("POST", "/v1/agents", body)
	}
	b := rest.Must("POST", "/v1/budgets", harness.JSON{"scope": "agent", "target": "poor", "max_tool_calls": poorCalls})
	r.board.budget = b.Str("id")
}

// live performs one action after the other.
func (c *client) live(ctx context.Context) {
	for n := 0; ctx.Err() == nil && (c.plan.acts == 0 || n < c.plan.acts); n++ {
		r := c.board.pick(c.dice)
		if r == nil || c.board.lacks() && c.dice.IntN(4) == 0 {
			c.open(ctx)
			continue
		}
		c.act(ctx, r)
	}
}

// act performs an action in a room.
func (c *client) act(ctx context.Context, r *room) {
	for _, choice := range []struct {
		weight int
		do     func()
	}{
		{26, func() { c.send(ctx, r) }},
		{8, func() { c.resend(ctx, r) }},
		{14, func() { c.steer(ctx, r) }},
		{6, func() { c.cancel(ctx, r) }},
		{16, func() { c.decide(ctx) }},
		{22, func() { c.read(ctx, r) }},
		{2, func() { c.fork(ctx, r) }},
		{1000, func() { c.watch(r) }},
	} {
		if c.dice.IntN(100) < choice.weight {
			choice.do()
			return
		}
	}
}

// first reports whether a session is new to all clients.
func (r *run) first(session string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	known := r.watched[session]
	r.watched[session] = true
	return !known
}

// note records an error.
func (r *run) note(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.notes = append(r.notes, fmt.Sprintf(format, args...))
}

// disturb injects faults at intervals of the clients' operations, until they are done.
func (r *run) disturb(over <-chan struct{}, dice *rand.Rand) {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for next := r.plan.every; ; {
		select {
		case <-over:
			return
		case <-tick.C:
		}
		if r.operations.Load() < next {
			continue
		}
		r.faults[r.system.disturb(dice)]++
		next = r.operations.Load() + r.plan.every
	}
}

// check checks the answers against the model.
func (r *run) check() linear.Report {
	r.t.Helper()
	report, err := linear.Check(r.recorder.Operations(), linear.Options{
		MaxQueued: maxQueued, Timeout: 30 * time.Second, Dir: filepath.Join(harness.Root(r.t), "bin", "histories"),
	})
	if err != nil {
		r.t.Fatal(err)
	}
	for _, v := range report.Violations {
		r.t.Error(v)
	}
	return report
}
