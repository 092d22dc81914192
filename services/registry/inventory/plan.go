package inventory

import (
	"errors"
	"sync"
	"time"

	"github.com/windlass-dev/windlass/services/registry/store"
)

// quiet is how long after a sync a "connected" event is attributed to that sync's own connection.
const quiet = 3 * time.Second

// plan decides when to sync which source.
type plan struct {
	cfg     Config
	mu      sync.Mutex
	entries map[string]*entry // by source id
	wake    chan struct{}     // holds a token when a source became due, or can be synced at last
	waiting bool              // sources were postponed since the last take
}

type entry struct {
	tenant   string
	due      time.Time // zero = at once
	again    bool      // requested while a sync was running
	running  int
	failures int
	last     time.Time // end of the last sync
}

func newPlan(cfg Config) *plan {
	return &plan{cfg: cfg, entries: map[string]*entry{}, wake: make(chan struct{}, 1)}
}

func (p *plan) entry(s store.Source) *entry {
	e, ok := p.entries[s.ID]
	if !ok {
		e = &entry{tenant: s.Tenant}
		p.entries[s.ID] = e
	}
	return e
}

func (p *plan) begin(s store.Source) {
	p.mu.Lock()
	defer p.mu.Unlock()
	e := p.entry(s)
	e.running++
}

func (p *plan) end(s store.Source, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	e := p.entry(s)
	now := time.Now()
	e.running--
	e.last = now
	switch {
	case err == nil || errors.Is(err, store.ErrChanged):
		e.failures = 0
		e.due = now.Add(p.cfg.Every)
	default:
		e.failures++
		e.due = now.Add(p.cfg.retries().After(e.failures))
	}
	if e.again {
		e.again = false
		e.due = now
		p.poke()
	}
}

// soon makes a source due now. Fresh requests count even after a failure and during a sync, whose answer may be older.
func (p *plan) soon(id string, fresh bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	e, ok := p.entries[id]
	switch {
	case !ok: // the next round finds it
	case e.running > 0:
		e.again = e.again || fresh
	case fresh || e.failures == 0:
		e.due = time.Now()
		p.poke()
	}
}

// postpone makes a source due when there is room for its sync.
func (p *plan) postpone(id string, now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.waiting = true
	if e, ok := p.entries[id]; ok {
		e.due = now
	}
}

// room is called when more syncs can run than before.
func (p *plan) room() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.waiting {
		p.poke()
	}
}

// connected is soon for a connection that was not just made by our own sync.
func (p *plan) connected(id string) {
	p.mu.Lock()
	e, ok := p.entries[id]
	ours := !ok || e.running > 0 || (e.failures == 0 && time.Since(e.last) < quiet)
	p.mu.Unlock()
	if !ours {
		p.soon(id, true)
	}
}

func (p *plan) forget(id string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.entries, id)
}

// know adds new sources from the database, and drops deleted ones.
func (p *plan) know(sources []store.Source) {
	p.mu.Lock()
	defer p.mu.Unlock()
	there := map[string]bool{}
	for _, s := range sources {
		if s.Disabled {
			continue
		}
		there[s.ID] = true
		p.entry(s)
	}
	for id, e := range p.entries {
		if !there[id] && e.running == 0 {
			delete(p.entries, id)
		}
	}
}

// take returns the sources to sync now, as tenant by id. Each is due again after the interval, however its sync began.
func (p *plan) take(now time.Time) map[string]string {
	p.mu.Lock()
	defer p.mu.Unlock()
	taken := map[string]string{}
	p.waiting = false
	for id, e := range p.entries {
		if e.running == 0 && !now.Before(e.due) {
			e.due = now.Add(p.cfg.Every)
			taken[id] = e.tenant
		}
	}
	return taken
}

// poke wakes the loop; p.mu is held.
func (p *plan) poke() {
	select {
	case p.wake <- struct{}{}:
	default:
	}
}
