package sessionstest

import (
	"sync"
	"time"
)

// Clock is the time of a database. It stands still until a test moves it.
type Clock struct {
	mu  sync.Mutex
	now time.Time
}

// NewClock returns a clock at a time within a day and a month, far from their ends.
func NewClock() *Clock { return &Clock{now: time.Date(2026, 5, 15, 12, 0, 0, 0, time.UTC)} }

// Now returns the time.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// Advance moves the clock forward.
func (c *Clock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}
