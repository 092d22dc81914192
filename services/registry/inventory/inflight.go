package inventory

import (
	"context"
	"sync"
)

// inFlight are the running syncs, so that the end can cancel them and wait for them. The zero value is ready for use.
type inFlight struct {
	mu      sync.Mutex
	running map[*run]struct{}
	stopped bool
	idle    chan struct{} // set by close, closed by the last sync that ends
}

// run is a running sync.
type run struct{ cancel context.CancelFunc }

// enter adds a sync and returns its context, which does not end with ctx but when stop is called. It returns false after stop. The caller
// calls leave when the sync has ended.
func (f *inFlight) enter(ctx context.Context) (_ context.Context, leave func(), ok bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.stopped {
		return nil, nil, false
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	r := &run{cancel}
	if f.running == nil {
		f.running = map[*run]struct{}{}
	}
	f.running[r] = struct{}{}
	return ctx, func() { f.leave(r) }, true
}

func (f *inFlight) leave(r *run) {
	r.cancel()
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.running, r)
	if len(f.running) == 0 && f.idle != nil {
		close(f.idle)
		f.idle = nil
	}
}

// stop rejects further syncs and cancels the running ones.
func (f *inFlight) stop() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.stopped = true
	for r := range f.running {
		r.cancel()
	}
}

// close stops the syncs and waits until they have ended.
func (f *inFlight) close() {
	f.stop()
	f.mu.Lock()
	if len(f.running) == 0 {
		f.mu.Unlock()
		return
	}
	idle := make(chan struct{})
	f.idle = idle
	f.mu.Unlock()
	<-idle
}
