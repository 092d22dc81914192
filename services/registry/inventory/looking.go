package inventory

import "sync"

// looking counts the looks under way, so that the end can wait for them. A sync.WaitGroup would not do: looks begin while
// the end is waiting.
type looking struct {
	mu     sync.Mutex
	n      int
	closed bool
	idle   chan struct{} // set and closed by whoever ends last
}

// enter counts a look in; false after close.
func (l *looking) enter() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return false
	}
	l.n++
	return true
}

// leave counts a look out.
func (l *looking) leave() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.n--
	if l.n == 0 && l.idle != nil {
		close(l.idle)
		l.idle = nil
	}
}

// close refuses further looks and waits for those under way.
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
