package execute

import (
	"context"
	"errors"
	"sync"
)

// errAbandoned ends a flight without callers.
var errAbandoned = errors.New("nobody waits for this call any more")

// maxLogs limits the log messages of a call. A message is limited by the bridge.
const maxLogs = 100

// flight is a running execution, followed by its callers.
type flight struct {
	key flightKey
	req *request

	mu        sync.Mutex
	cancel    context.CancelFunc // cancels the call; nil until it starts
	givenUp   error              // why the call is being given up; nil if it is not
	callers   int
	bound     bool // the call continues without callers
	events    []Event
	progress  *Event
	logs      int           // among events
	progressN int           // counts progress events
	changed   chan struct{} // closed and replaced on every change of the state
	over      chan struct{} // closed at the end
	ended     bool
	out       Outcome
	err       error
}

// newFlight returns a flight with one caller.
func newFlight(key flightKey, r *request) *flight {
	return &flight{key: key, req: r, callers: 1, changed: make(chan struct{}), over: make(chan struct{})}
}

// start returns the context of the call, which does not end with ctx but when the flight is given up.
func (f *flight) start(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	f.mu.Lock()
	defer f.mu.Unlock()
	f.cancel = cancel
	if f.givenUp != nil {
		cancel()
	}
	return ctx, cancel
}

// giveUp cancels the call because of why; the first reason counts.
func (f *flight) giveUp(why error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.giveUpLocked(why)
}

func (f *flight) giveUpLocked(why error) {
	if f.givenUp != nil || f.ended {
		return
	}
	f.givenUp = why
	if f.cancel != nil {
		f.cancel()
	}
}

// enter counts a caller; false if the flight is being given up.
func (f *flight) enter() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.ended && f.givenUp != nil {
		return false
	}
	f.callers++
	return true
}

// leave removes a caller. The last one cancels a call that is not bound.
func (f *flight) leave() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.callers--
	if f.callers == 0 && !f.bound && !f.ended {
		f.giveUpLocked(errAbandoned)
	}
}

// bind makes the call continue without callers; false if it was just given up.
func (f *flight) bind() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.bound = f.givenUp == nil
	return f.bound
}

// whyGivenUp returns why the flight was given up; nil if it was not.
func (f *flight) whyGivenUp() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.givenUp
}

// tell adds an event. Only the last progress and the first maxLogs log messages are kept: a slow caller misses some, and memory stays
// bounded.
func (f *flight) tell(e Event) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if e.Progress != nil {
		f.progress = &e
		f.progressN++
	} else if e.Log == nil || f.logs < maxLogs {
		f.events = append(f.events, e)
		if e.Log != nil {
			f.logs++
		}
	}
	f.signal()
}

// signal wakes all callers; f.mu is held.
func (f *flight) signal() {
	close(f.changed)
	f.changed = make(chan struct{})
}

// wait waits for the end.
func (f *flight) wait(ctx context.Context) error {
	select {
	case <-f.over:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// follow passes on all events from the first, unless emit is nil, and returns the outcome.
func (f *flight) follow(ctx context.Context, emit func(Event) error) (Outcome, error) {
	defer f.leave()
	if emit == nil {
		if err := f.wait(ctx); err != nil {
			return Outcome{}, err
		}
		return f.out, f.err // they do not change any more
	}
	seen, progressN := 0, 0
	for {
		f.mu.Lock()
		fresh := f.events[seen:]
		if f.progressN > progressN {
			fresh = append(fresh[:len(fresh):len(fresh)], *f.progress)
			progressN = f.progressN
		}
		seen = len(f.events)
		ended, out, err, changed := f.ended, f.out, f.err, f.changed
		f.mu.Unlock()
		for _, e := range fresh {
			if err := emit(e); err != nil {
				return Outcome{}, err
			}
		}
		if ended {
			return out, err
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return Outcome{}, ctx.Err()
		}
	}
}
