// Package lane bounds concurrent work some of which may hang, so that work that hangs does not keep other work from starting.
package lane

import (
	"sync"
	"time"
)

// Config bounds a lane; all fields are required.
type Config struct {
	// Size is how many pieces of work that began less than Patience ago may run at once, and Beside how many older ones may run beside them.
	// Those beyond Beside count towards Size.
	Size, Beside int
	Patience     time.Duration
	// Free is called, in any goroutine, when more work may start than before.
	Free func()
}

// Lane runs work. It is safe for concurrent use.
type Lane struct {
	cfg Config

	mu         sync.Mutex
	young, old int
	all        sync.WaitGroup
}

// New returns a lane.
func New(cfg Config) *Lane { return &Lane{cfg: cfg} }

// TryGo runs f in a goroutine, or returns false if that is too much now.
func (l *Lane) TryGo(f func()) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.young+max(l.old-l.cfg.Beside, 0) >= l.cfg.Size {
		return false
	}
	l.young++
	l.all.Go(func() {
		aged, done := false, false
		late := time.AfterFunc(l.cfg.Patience, func() {
			l.mu.Lock()
			if aged = !done; aged {
				l.young, l.old = l.young-1, l.old+1
			}
			l.mu.Unlock()
			l.cfg.Free()
		})
		defer func() {
			late.Stop()
			l.mu.Lock()
			if done = true; aged {
				l.old--
			} else {
				l.young--
			}
			l.mu.Unlock()
			l.cfg.Free()
		}()
		f()
	})
	return true
}

// Wait waits until all work is over. No more may be started meanwhile.
func (l *Lane) Wait() { l.all.Wait() }
