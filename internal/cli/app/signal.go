package app

import (
	"context"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"
)

// signals cancels a context when the process receives a signal.
type signals struct {
	mu      sync.Mutex
	handler func() bool
	// first is the time of the signal that ended the context.
	first time.Time
	// exit ends the process; nil means os.Exit.
	exit func(code int)
}

// echo is how long further signals count as the first one: terminals and supervisors often signal both a process and its group. Nobody
// presses Ctrl-C twice as fast.
const echo = 100 * time.Millisecond

// watch starts handling signals. The returned function stops it.
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
		if s.exit == nil {
			os.Exit(ExitError) // a second signal: do not wait
		}
		s.exit(ExitError)
		return
	}
	if sig == os.Interrupt && s.handled() {
		return
	}
	s.mu.Lock()
	s.first = time.Now()
	s.mu.Unlock()
	cancel()
}

// OnInterrupt makes handle see each Ctrl-C first, until release is called; if it returns true the command continues.
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

// Interrupt simulates Ctrl-C for a command that handles it, and reports whether the command continues.
func (a *App) Interrupt() bool { return a.signals.handled() }

func (s *signals) handled() bool {
	s.mu.Lock()
	handler := s.handler
	s.mu.Unlock()
	return handler != nil && handler()
}
