package authz

import "sync"

// Changes reports that permissions may have changed. Its zero value can be used.
type Changes struct {
	mu   sync.Mutex
	next chan struct{}
}

// Next returns a channel that is closed at the next change.
func (c *Changes) Next() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.next == nil {
		c.next = make(chan struct{})
	}
	return c.next
}

// Notify reports a change.
func (c *Changes) Notify() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.next != nil {
		close(c.next)
		c.next = nil
	}
}
