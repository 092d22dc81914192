// Package lifecycle starts named components in order, watches them and stops them in reverse order.
package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"
	"time"
)

// Component is one part of a process.
type Component struct {
	// Name is used in errors and logs.
	Name string
	// Start starts the component and returns once it is ready to serve. Its context ends when starting is aborted or, after a successful
	// start, when the group stops; a component that outlives the call may keep it. Nil means nothing to start.
	Start func(ctx context.Context) error
	// Stop stops the component and waits for it until ctx ends. It is called only after a successful Start. Nil means nothing to stop.
	Stop func(ctx context.Context) error
	// Wait, if set, blocks until the component ends by itself or is stopped. Returning before the group stops counts as a failure, with or
	// without an error. It must return after Stop.
	Wait func() error
}

// Group is an ordered list of components. The zero value is ready for use; Log is optional.
type Group struct {
	// Log receives one line per start and stop at debug level. Nil means no logging.
	Log *slog.Logger
	// Slow is called with the name of a component whose stop takes longer than a second. Nil means that no one asks.
	Slow func(component string)
	// Linger is called when Run's context has ended after a complete start, before the first component is stopped; the time that it takes is
	// not part of the stop timeout. Its context ends if a component fails meanwhile. Nil means that components are stopped at once.
	Linger     func(ctx context.Context)
	components []Component
}

// ErrEnded is the cause if a component's Wait returned nil before it was asked to stop.
var ErrEnded = errors.New("ended unexpectedly")

// Error says which component failed, and in which phase.
type Error struct {
	// Component is the component's name.
	Component string
	// Phase is "start", "run" or "stop".
	Phase string
	// Err is what the component returned.
	Err error
}

// Error says which component failed, when, and why.
func (e *Error) Error() string { return fmt.Sprintf("%s: %s: %v", e.Component, e.Phase, e.Err) }

// Unwrap returns the component's own error.
func (e *Error) Unwrap() error { return e.Err }

// Add appends components; they start after those added before. It must not be called while Run runs.
func (g *Group) Add(components ...Component) { g.components = append(g.components, components...) }

// Run starts all components in order, blocks until ctx ends or a component fails, then stops the started components in reverse order,
// within stopTimeout in total. It returns the first failure as an *Error, joined with errors of stopping; if ctx ended it, only the errors
// of stopping, or nil. After the timeout the remaining components are still stopped, with an ended context, but not waited for.
func (g *Group) Run(ctx context.Context, stopTimeout time.Duration) error {
	runCtx, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	defer cancel(nil)
	ended := make(chan *Error, len(g.components))
	started, failure := g.start(ctx, runCtx, cancel, ended)
	if failure == nil && len(started) == len(g.components) {
		select {
		case <-ctx.Done():
			failure = g.linger(runCtx, ended)
		case failure = <-ended:
		}
	}
	stopCtx, stopCancel := context.WithTimeout(context.WithoutCancel(ctx), stopTimeout)
	defer stopCancel()
	var errs []error
	if failure != nil {
		cancel(failure)
		errs = append(errs, failure)
	}
	for _, c := range slices.Backward(started) {
		if err := g.stop(stopCtx, c); err != nil && (failure == nil || c.Name != failure.Component) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// linger calls Linger, and returns the failure of a component that ended it.
func (g *Group) linger(ctx context.Context, ended <-chan *Error) (failure *Error) {
	if g.Linger == nil {
		return nil
	}
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() { defer close(done); g.Linger(ctx) }()
	select {
	case <-done:
	case failure = <-ended:
	}
	cancel()
	<-done
	return failure
}

// start returns the components that are up, and the failure that aborted the start, if any. An end of ctx is not a failure.
func (g *Group) start(ctx, runCtx context.Context, cancel context.CancelCauseFunc, ended chan *Error) ([]Component, *Error) {
	// An end of ctx must interrupt components that are starting; once started, their context lives until they are stopped.
	release := context.AfterFunc(ctx, func() { cancel(context.Cause(ctx)) })
	defer release()
	var started []Component
	for _, c := range g.components {
		if ctx.Err() != nil {
			return started, nil
		}
		select {
		case e := <-ended:
			return started, e
		default:
		}
		begin := time.Now()
		if err := guard(func() error { return call(runCtx, c.Start) }); err != nil {
			if ctx.Err() != nil {
				return started, nil
			}
			return started, &Error{Component: c.Name, Phase: "start", Err: err}
		}
		g.debug(ctx, "started", c.Name, begin)
		started = append(started, c)
		if c.Wait != nil {
			go watch(c, ended)
		}
	}
	return started, nil
}

func watch(c Component, ended chan<- *Error) {
	err := guard(c.Wait)
	if err == nil {
		err = ErrEnded
	}
	ended <- &Error{Component: c.Name, Phase: "run", Err: err}
}

// slowStop is how long a stop may take before the log says what it waits for.
const slowStop = time.Second

// stop runs one Stop, and gives up on it when ctx ends.
func (g *Group) stop(ctx context.Context, c Component) error {
	if c.Stop == nil {
		return nil
	}
	begin := time.Now()
	done := make(chan error, 1)
	go func() { done <- guard(func() error { return c.Stop(ctx) }) }()
	if g.Slow != nil {
		slow := time.AfterFunc(slowStop, func() { g.Slow(c.Name) })
		defer slow.Stop()
	}
	var err error
	select {
	case err = <-done:
	case <-ctx.Done():
		select { // a stop that finished just in time wins
		case err = <-done:
		default:
			err = fmt.Errorf("did not stop in time: %w", ctx.Err())
		}
	}
	if err != nil {
		return &Error{Component: c.Name, Phase: "stop", Err: err}
	}
	g.debug(ctx, "stopped", c.Name, begin)
	return nil
}

func (g *Group) debug(ctx context.Context, msg, name string, begin time.Time) {
	if g.Log != nil {
		g.Log.DebugContext(ctx, "component changed", "component", name, "now", msg, "took", time.Since(begin))
	}
}

func call(ctx context.Context, f func(context.Context) error) error {
	if f == nil {
		return nil
	}
	return f(ctx)
}

// guard converts a panic to an error, so that the other components are still stopped in order.
func guard(f func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v\n%s", r, debug.Stack())
		}
	}()
	return f()
}
