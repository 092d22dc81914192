package inventory

import "sync"

// inFlight counts the running syncs, so that the end can wait for them. A sync.WaitGroup does not allow starts during the wait.
type inFlight struct {
	mu     sync.Mutex
	n      int
	closed bool
	idle   chan struct{} // set by close, closed by the last sync that ends
}

// enter counts a sync; false after close.
func (f *inFlight) enter() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return false
	}
	f.n++
	return true
}

// leave removes a sync from the count.
func (f *inFlight) leave() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.n--
	if f.n == 0 && f.idle != nil {
		close(f.idle)
		f.idle = nil
	}
}

// close rejects further syncs and waits for the running ones.
func (f *inFlight) close() {
	f.mu.Lock()
	f.closed = true
	if f.n == 0 {
		f.mu.Unlock()
		return
	}
	idle := make(chan struct{})
	f.idle = idle
	f.mu.Unlock()
	<-idle
}
