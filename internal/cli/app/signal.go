package app

import (
	"context"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"
)

// signals turns the process's signals into the end of a context.
type signals struct {
	mu      sync.Mutex
	handler func() bool
	// first is when the signal came that ended the context.
	first time.Time
}

// echo is how long signals after the first count as the same one: terminals and supervisors often tell both a process and its group.
const echo = 500 * time.Millisecond

// watch begins to listen. The returned function ends it.
func (s *signals) watch(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancel(ctx)
	got := make(chan os.Signal, 4)
	signal.Notify(got, os.Interrupt, syscall.SIGTERM)
	done := make(chan struct{})
	go func() {
		for {
			select {
			case <-done:
				return
			case sig := <-got:
				s.deliver(ctx, sig, cancel)
			}
		}
	}()
	return ctx, func() { signal.Stop(got); close(done); cancel() }
}

func (s *signals) deliver(ctx context.Context, sig os.Signal, cancel func()) {
	s.mu.Lock()
	first := s.first
	s.mu.Unlock()
	if ctx.Err() != nil {
		if !first.IsZero() && time.Since(first) < echo {
			return
		}
		os.Exit(ExitError) // a second one: whoever sends it does not want to wait
	}
	if sig == os.Interrupt && s.handled() {
		return
	}
	s.mu.Lock()
	s.first = time.Now()
	s.mu.Unlock()
	cancel()
}

// OnInterrupt lets handle see each Ctrl-C first, until release is called; where it answers true the command goes on.
func (a *App) OnInterrupt(handle func() bool) (release func()) {
	a.signals.mu.Lock()
	defer a.signals.mu.Unlock()
	a.signals.handler = handle
	return func() {
		a.signals.mu.Lock()
		defer a.signals.mu.Unlock()
		a.signals.handler = nil
	}
}

// Interrupt does what Ctrl-C does in a command that handles it, and reports whether the command goes on.
func (a *App) Interrupt() bool { return a.signals.handled() }

func (s *signals) handled() bool {
	s.mu.Lock()
	handler := s.handler
	s.mu.Unlock()
	return handler != nil && handler()
}
