package connection

import (
	"context"
	"sync"
	"time"
)

// lifetime is the time during which a connection takes calls, and after it that of the calls which still run.
type lifetime struct {
	// ctx ends when the wire is closed. It is stored because a connection belongs to none of the calls that use it: what runs in the
	// background is started by one of them and must outlive it.
	ctx       context.Context
	end       context.CancelFunc
	closeWire func()
	done      chan struct{} // closed when the connection is lost or closed
	bg        sync.WaitGroup

	drained   chan struct{} // closed when the wire may be closed
	wired     chan struct{} // closed when it is known
	drainOnce sync.Once

	mu      sync.Mutex
	cause   error // why it was lost; nil while it works and when we closed it
	over    bool
	calls   int
	retired bool
	used    time.Time
}

// init begins the lifetime, which does not end with ctx. closeWire is called once at the end.
func (l *lifetime) init(ctx context.Context, closeWire func()) {
	l.ctx, l.end = context.WithCancel(context.WithoutCancel(ctx))
	l.closeWire = closeWire
	l.done, l.drained, l.wired = make(chan struct{}), make(chan struct{}), make(chan struct{})
	l.used = time.Now()
}

// Done is closed when the connection is lost or closed.
func (l *lifetime) Done() <-chan struct{} { return l.done }

// Drained is closed when no call runs after that.
func (l *lifetime) Drained() <-chan struct{} { return l.drained }

// Abort ends the connection and its calls because of err; the first reason counts.
func (l *lifetime) Abort(err error) {
	l.finish(err)
	l.drain()
}

// refuseCalls ends the connection because of err for new calls only: over HTTP, running calls have their own sockets.
func (l *lifetime) refuseCalls(err error) {
	l.finish(err)
	l.mu.Lock()
	idle := l.calls == 0
	l.mu.Unlock()
	if idle {
		l.drain()
	}
}

// finish marks the end. The wire is closed in the background once it is drained.
func (l *lifetime) finish(cause error) {
	l.mu.Lock()
	if l.over {
		l.mu.Unlock()
		return
	}
	l.over, l.cause = true, cause
	l.bg.Add(1)
	l.mu.Unlock()
	close(l.done)
	go func() {
		defer l.bg.Done()
		<-l.drained
		<-l.wired
		l.end()
		l.closeWire()
	}()
}

// drain allows the wire to be closed.
func (l *lifetime) drain() { l.drainOnce.Do(func() { close(l.drained) }) }

// background runs f as part of the connection, unless that is over. Its context ends with the connection.
func (l *lifetime) background(f func(context.Context)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.over {
		l.bg.Go(func() { f(l.ctx) })
	}
}

// Close ends the connection and waits until everything has stopped.
func (l *lifetime) Close() {
	l.finish(nil)
	l.drain()
	l.bg.Wait()
}

// Lost returns why the connection was lost; nil if we closed it, or while it works.
func (l *lifetime) Lost() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.cause
}

// Alive reports whether calls may be sent.
func (l *lifetime) Alive() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return !l.over
}

// Begin registers a call. It returns false if the connection is over or about to be.
func (l *lifetime) Begin() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.over || l.retired {
		return false
	}
	l.calls++
	return true
}

// Finished ends what Begin began.
func (l *lifetime) Finished() {
	l.mu.Lock()
	l.calls--
	l.used = time.Now()
	last := (l.retired || l.over) && l.calls == 0
	l.mu.Unlock()
	if last {
		l.refuseCalls(nil)
	}
}

// Retire closes the connection when its calls are over.
func (l *lifetime) Retire() {
	l.mu.Lock()
	l.retired = true
	idle := l.calls == 0
	l.mu.Unlock()
	if idle {
		l.refuseCalls(nil)
	}
}

// Idle returns how long the connection has been unused.
func (l *lifetime) Idle() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.calls > 0 {
		return 0
	}
	return time.Since(l.used)
}
