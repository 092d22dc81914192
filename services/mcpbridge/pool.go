package mcpbridge

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/windlass-dev/windlass/services/mcpbridge/watch"
)

// pool holds one upstream per server id. A changed entry replaces the previous one.
type pool struct {
	cfg    Config
	log    *slog.Logger
	hub    *watch.Hub
	opener *opener
	forget func(id string) // is called when a server leaves the pool
	eras   eras

	// life ends with the pool. It is stored because connections are made and kept for all calls, and must not end with the call that happens
	// to need one first.
	life context.Context
	end  context.CancelFunc

	mu        sync.Mutex           // taken before any upstream's
	upstreams map[string]*upstream // by spec.place

	gate   sync.Mutex // guards closed and wg; taken after any other
	closed bool
	wg     sync.WaitGroup
}

func newPool(cfg Config, log *slog.Logger, o *opener, forget func(id string)) *pool {
	p := &pool{cfg: cfg, log: log, hub: watch.NewHub(), opener: o, forget: forget, upstreams: map[string]*upstream{}}
	p.life, p.end = context.WithCancel(context.Background())
	o.background = p.background
	return p
}

// get returns the upstream of an entry.
func (p *pool) get(sp *spec) (*upstream, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.life.Err() != nil {
		return nil, errClosed
	}
	old := p.upstreams[sp.place()]
	if old != nil && old.spec.key == sp.key {
		old.spec.user.Renew(sp.user)
		old.spec.hidden.Add(sp.concealed)
		return old, nil
	}
	sp.hidden.Add(sp.concealed)
	u := &upstream{spec: sp, pool: p, slots: make(chan struct{}, p.cfg.MaxCalls), era: p.eras.of(sp.key)}
	p.upstreams[sp.place()] = u
	if old != nil {
		old.retire()
		p.hub.Forget(sp.id)
	}
	return u, nil
}

// release ends a server's upstreams once their calls are over.
func (p *pool) release(id string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for place, u := range p.upstreams {
		if u.spec.id == id {
			p.remove(place, u)
		}
	}
}

// remove ends an upstream once its calls are over. The caller holds mu.
func (p *pool) remove(place string, u *upstream) {
	delete(p.upstreams, place)
	u.retire()
	p.hub.Forget(u.spec.id)
	p.forget(u.spec.id)
}

// background runs f, and close waits for it. It returns false if the pool is closed.
func (p *pool) background(f func()) bool {
	p.gate.Lock()
	defer p.gate.Unlock()
	if p.closed {
		return false
	}
	p.wg.Go(f)
	return true
}

// sweep closes connections that have been unused for a while.
func (p *pool) sweep() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for place, u := range p.upstreams {
		if u.idle(p.cfg.IdleTimeout) {
			p.remove(place, u)
		}
	}
}

// run sweeps until ctx ends.
func (p *pool) run(ctx context.Context) {
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

// close ends all connections, calls included, and waits until nothing is left.
func (p *pool) close() {
	p.gate.Lock()
	p.closed = true
	p.gate.Unlock()
	p.end()
	p.hub.Close()
	p.wg.Wait()
}

// eras remembers a server's era even after it left the pool. The zero value is ready for use.
type eras struct {
	mu    sync.Mutex
	known map[string]era
}

// erasKept limits the memory; beyond it all eras are forgotten.
const erasKept = 4096

func (e *eras) of(key string) era {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.known[key]
}

func (e *eras) remember(key string, value era) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.known == nil || len(e.known) >= erasKept {
		e.known = map[string]era{}
	}
	e.known[key] = value
}
