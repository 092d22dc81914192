package execute

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/windlass-dev/windlass/libs/fault"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
)

// errAbandoned ends a flight without callers.
var errAbandoned = errors.New("nobody waits for this call any more")

// flights are the executions in this process, one per key.
type flights struct {
	mu     sync.Mutex
	byKey  map[flightKey]*flight
	rows   map[string]*flight // by the id of its ledger row: our open rows
	closed bool
	idle   chan struct{} // closed when the last flight of a closed set ends
	base   context.Context
	cancel context.CancelCauseFunc
}

type flightKey struct{ tenant, key string }

func newFlights() *flights {
	base, cancel := context.WithCancelCause(context.Background())
	return &flights{byKey: map[flightKey]*flight{}, rows: map[string]*flight{}, idle: make(chan struct{}), base: base, cancel: cancel}
}

// flight is a running execution, followed by its callers.
type flight struct {
	key    flightKey
	req    *request
	ctx    context.Context // ends when the call should be given up
	cancel context.CancelCauseFunc

	mu        sync.Mutex
	callers   int
	bound     bool // the call continues without callers
	events    []Event
	progress  *Event
	progressN int           // counts progress events
	changed   chan struct{} // closed and replaced on every change of the state
	ended     bool
	out       Outcome
	err       error
}

// join returns the flight of the request's key and counts the caller; leader means that the caller has to run it. Errors are
// IDEMPOTENCY_CONFLICT, UNAVAILABLE if the set is closed, or ctx's own.
func (s *flights) join(ctx context.Context, r *request) (f *flight, leader bool, err error) {
	key := flightKey{r.Tenant, r.Key}
	for {
		s.mu.Lock()
		f, there := s.byKey[key]
		switch {
		case !there && s.closed:
			s.mu.Unlock()
			return nil, false, errStopping()
		case !there:
			f = newFlight(s.base, key, r)
			s.byKey[key] = f
			s.mu.Unlock()
			return f, true, nil
		}
		s.mu.Unlock()
		if !r.same(f.req.Tool, f.req.Principal.GetSubject(), f.req.argsHash) {
			return nil, false, conflict(r.Key)
		}
		if f.enter() {
			return f, false, nil
		}
		if err := f.wait(ctx); err != nil { // it is being given up: start again after it
			return nil, false, err
		}
	}
}

// newFlight returns a flight with one caller.
func newFlight(base context.Context, key flightKey, r *request) *flight {
	ctx, cancel := context.WithCancelCause(base)
	return &flight{key: key, req: r, ctx: ctx, cancel: cancel, callers: 1, changed: make(chan struct{})}
}

func errStopping() error {
	return fault.Unavailable(faultv1.Reason_REASON_UNAVAILABLE, "the registry is stopping").RetryAfter(time.Second)
}

// end publishes the outcome and removes the flight.
func (s *flights) end(f *flight, out Outcome, err error) {
	s.mu.Lock()
	delete(s.byKey, f.key)
	last := s.closed && len(s.byKey) == 0
	s.mu.Unlock()
	f.mu.Lock()
	f.ended, f.out, f.err = true, out, err
	f.signal()
	f.mu.Unlock()
	f.cancel(nil)
	if last {
		close(s.idle)
	}
}

// close rejects new flights, waits for the running ones, and cancels those that do not end in time.
func (s *flights) close(patience time.Duration) {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return
	}
	s.closed = true
	if len(s.byKey) == 0 {
		close(s.idle)
	}
	s.mu.Unlock()
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-s.idle:
	case <-timer.C:
	}
	s.cancel(errStopping())
	<-s.idle
}

// hold and release maintain the set of open rows covered by the heartbeat.
func (s *flights) hold(row string, f *flight) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rows[row] = f
}

func (s *flights) release(row string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.rows, row)
}

// held returns the ids of our open rows.
func (s *flights) held() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	rows := make([]string, 0, len(s.rows))
	for id := range s.rows {
		rows = append(rows, id)
	}
	return rows
}

// enter counts a caller; false if the flight is being given up.
func (f *flight) enter() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.ended && f.ctx.Err() != nil {
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
		f.cancel(errAbandoned)
	}
}

// bind makes the call continue without callers; false if it was just given up.
func (f *flight) bind() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.bound = f.ctx.Err() == nil
	return f.bound
}

// whyEnded returns why the flight was given up.
func (f *flight) whyEnded() error {
	if cause := context.Cause(f.ctx); cause != nil {
		return cause
	}
	return context.Canceled
}

// tell adds an event. Only the last progress is kept: a slow caller misses some, and memory stays bounded.
func (f *flight) tell(e Event) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if e.Progress != nil {
		f.progress = &e
		f.progressN++
	} else {
		f.events = append(f.events, e)
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
	for {
		f.mu.Lock()
		ended, changed := f.ended, f.changed
		f.mu.Unlock()
		if ended {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// follow passes on all events from the first, and returns the outcome.
func (f *flight) follow(ctx context.Context, emit func(Event) error) (Outcome, error) {
	defer f.leave()
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
