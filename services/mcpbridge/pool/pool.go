// Package pool keeps the connections to servers: it opens them when they are needed, opens them again when they are lost, and closes those
// that are not used.
package pool

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/windlass-dev/windlass/libs/backoff"
	"github.com/windlass-dev/windlass/services/mcpbridge/connection"
	"github.com/windlass-dev/windlass/services/mcpbridge/server"
	"github.com/windlass-dev/windlass/services/mcpbridge/watch"
	"github.com/windlass-dev/windlass/services/mcpbridge/wire"
)

var (
	// ErrRetired means that a connection was replaced or released.
	ErrRetired = errors.New("the connection was replaced or released")

	errClosed = errors.New("the bridge is stopping")
)

// Config configures the pool.
type Config struct {
	// IdleTimeout is how long an unused connection stays open.
	IdleTimeout time.Duration
	// MaxCalls limits concurrent calls per server; QueueTimeout is how long further ones wait.
	MaxCalls     int
	QueueTimeout time.Duration
	// Probe bounds the check whether a server speaks the stateless protocol.
	Probe time.Duration
	// Reconnects are the waits for a lost server.
	Reconnects backoff.Policy
}

// Deps holds the pool's dependencies; all are required.
type Deps struct {
	// Dialer makes the transports of connections.
	Dialer wire.Dialer
	// Hub gets what changes. The pool closes it.
	Hub *watch.Hub
	// Forget is called when a server leaves the pool.
	Forget func(id string)
	// Log receives connections and losses.
	Log *slog.Logger
}

// Pool holds one upstream per server and user. A changed entry replaces the previous one.
type Pool struct {
	cfg    Config
	log    *slog.Logger
	hub    *watch.Hub
	opener *connection.Opener
	forget func(id string)
	eras   eras

	// life ends with the pool. It is stored because connections are made and kept for all calls, and must not end with the call that happens
	// to need one first.
	life context.Context
	end  context.CancelFunc

	mu        sync.Mutex           // taken before any upstream's
	upstreams map[string]*Upstream // by the place of its spec

	gate   sync.Mutex // guards closed and wg; taken after any other
	closed bool
	wg     sync.WaitGroup
}

// New returns a pool without connections.
func New(cfg Config, deps Deps) *Pool {
	p := &Pool{cfg: cfg, log: deps.Log, hub: deps.Hub, forget: deps.Forget, upstreams: map[string]*Upstream{}}
	p.life, p.end = context.WithCancel(context.Background())
	p.opener = &connection.Opener{Dialer: deps.Dialer, Probe: cfg.Probe, Background: p.background, Log: deps.Log}
	return p
}

// Get returns the upstream of a request's entry.
func (p *Pool) Get(sp *server.Spec) (*Upstream, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.life.Err() != nil {
		return nil, errClosed
	}
	old := p.upstreams[sp.Place()]
	if old != nil && old.spec.Key == sp.Key {
		old.spec.User.Renew(sp.User)
		old.spec.Conceal(sp)
		return old, nil
	}
	sp.Conceal(sp)
	u := &Upstream{spec: sp, pool: p, slots: make(chan struct{}, p.cfg.MaxCalls), era: p.eras.of(sp.Key)}
	p.upstreams[sp.Place()] = u
	if old != nil {
		old.retire()
		p.hub.Forget(sp.ID)
	}
	return u, nil
}

// Release ends a server's upstreams once their calls are over.
func (p *Pool) Release(id string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for place, u := range p.upstreams {
		if u.spec.ID == id {
			p.remove(place, u)
		}
	}
}

// remove ends an upstream once its calls are over. The caller holds mu.
func (p *Pool) remove(place string, u *Upstream) {
	delete(p.upstreams, place)
	u.retire()
	p.hub.Forget(u.spec.ID)
	p.forget(u.spec.ID)
}

// background runs f, and Close waits for it. It returns false if the pool is closed.
func (p *Pool) background(f func()) bool {
	p.gate.Lock()
	defer p.gate.Unlock()
	if p.closed {
		return false
	}
	p.wg.Go(f)
	return true
}

// sweep closes connections that have been unused for a while.
func (p *Pool) sweep() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for place, u := range p.upstreams {
		if u.idle(p.cfg.IdleTimeout) {
			p.remove(place, u)
		}
	}
}

// Run sweeps until ctx ends.
func (p *Pool) Run(ctx context.Context) {
	ticker := time.NewTicker(max(p.cfg.IdleTimeout/4, time.Millisecond))
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			p.sweep()
		case <-ctx.Done():
			return
		}
	}
}

// Close ends all connections, calls included, and waits until nothing is left.
func (p *Pool) Close() {
	p.gate.Lock()
	p.closed = true
	p.gate.Unlock()
	p.end()
	p.hub.Close()
	p.wg.Wait()
}
