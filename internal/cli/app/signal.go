package app

import (
	"context"
	"os"
	"os/signal"
	"sync"
	"syscall"
)

// signals turns the process's signals into the end of a context.
type signals struct {
	mu      sync.Mutex
	handler func() bool
}

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
	if ctx.Err() != nil {
		os.Exit(ExitError) // the second one: whoever sends it does not want to wait
	}
	s.mu.Lock()
	handler := s.handler
	s.mu.Unlock()
	if sig == os.Interrupt && handler != nil && handler() {
		return
	}
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
