package inventory

import "sync"

// looking counts the running syncs, so that the end can wait for them. A sync.WaitGroup does not allow starts during the wait.
type looking struct {
	mu     sync.Mutex
	n      int
	closed bool
	idle   chan struct{} // set by close, closed by the last sync that ends
}

// enter counts a sync; false after close.
func (l *looking) enter() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return false
	}
	l.n++
	return true
}

// leave removes a sync from the count.
func (l *looking) leave() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.n--
	if l.n == 0 && l.idle != nil {
		close(l.idle)
		l.idle = nil
	}
}

// close rejects further syncs and waits for the running ones.
func (l *looking) close() {
	l.mu.Lock()
	l.closed = true
	if l.n == 0 {
		l.mu.Unlock()
		return
	}
	idle := make(chan struct{})
	l.idle = idle
	l.mu.Unlock()
	<-idle
}
