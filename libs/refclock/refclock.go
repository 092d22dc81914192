// Package refclock estimates the time of another clock, such as a database server's, without asking for it each time. It extrapolates from
// observations with the local monotonic clock, so a wrong or adjusted local wall clock does no harm.
package refclock

import (
	"sync"
	"time"
)

const (
	// drift is the assumed maximum drift of the local monotonic clock against the reference, as 1/drift: 500 parts per million, ten times that
	// of a quartz.
	drift = 2000
	// suspended is the difference between wall clock and monotonic clock since the newest observation that invalidates it: the monotonic clock
	// stops while a machine is suspended.
	suspended = 100 * time.Millisecond
)

// Clock estimates the time of a reference clock. It is safe for concurrent use.
type Clock struct {
	local func() time.Time

	mu sync.Mutex
	// at is the local time of the newest observation; zero before the first. The reference was between low and high then.
	at, low, high time.Time
}

// New returns a clock without observations, which returns local time. A nil local means time.Now.
func New(local func() time.Time) *Clock {
	if local == nil {
		local = time.Now
	}
	return &Clock{local: local}
}

// Local returns local time, for the arguments of Observe.
func (c *Clock) Local() time.Time { return c.local() }

// Now returns the time of the reference in UTC, to the microsecond.
func (c *Clock) Now() time.Time {
	now := c.local()
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.at.IsZero() {
		now = c.low.Add(c.high.Sub(c.low) / 2).Add(now.Sub(c.at))
	}
	return now.UTC().Truncate(time.Microsecond)
}

// Error returns the uncertainty of Now right after the newest observation, 0 before the first.
func (c *Clock) Error() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.high.Sub(c.low) / 2
}

// Stale reports whether all observations are older than age.
func (c *Clock) Stale(age time.Duration) bool {
	now := c.local()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.at.IsZero() {
		return true
	}
	since := now.Sub(c.at)
	slept := now.Round(0).Sub(c.at.Round(0)) - since
	return since < 0 || since > age || slept.Abs() > suspended
}

// Observe records a reading of the reference made between two readings of the local clock. A reading consistent with earlier ones narrows
// the estimate; a contradicting one replaces it, since one of the clocks was set.
func (c *Clock) Observe(reference, before, after time.Time) {
	reference = reference.Round(0)
	low, high := reference, reference.Add(max(after.Sub(before), 0))
	c.mu.Lock()
	defer c.mu.Unlock()
	since := after.Sub(c.at)
	if since < 0 && !c.at.IsZero() && since > -time.Minute { // an older reading that arrived late
		return
	}
	if !c.at.IsZero() {
		slack := since.Abs() / drift
		earliest, latest := c.low.Add(since-slack), c.high.Add(since+slack)
		if !earliest.After(high) && !low.After(latest) {
			low, high = later(low, earliest), earlier(high, latest)
		}
	}
	c.at, c.low, c.high = after, low, high
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}
