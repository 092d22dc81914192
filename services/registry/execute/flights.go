package execute

import (
	"context"
	"sync"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/windlass-dev/windlass/libs/fault"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
)

// flights are the executions in this process, one per key.
type flights struct {
	mu     sync.Mutex
	byKey  map[flightKey]*flight
	rows   map[string]*flight // by the id of its ledger row: our open rows
	closed bool
	idle   chan struct{} // closed when the last flight of a closed set ends
}

type flightKey struct{ tenant, key string }

func newFlights() *flights {
	return &flights{byKey: map[flightKey]*flight{}, rows: map[string]*flight{}, idle: make(chan struct{})}
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
			f = newFlight(key, r)
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

func conflict(key string) error {
	return fault.New(codes.AlreadyExists, faultv1.Reason_REASON_IDEMPOTENCY_CONFLICT, "the key %q belongs to another call", key).
		Hint("Use a new key for a new call; the same key only for the same tool and arguments.")
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
	close(f.over)
	f.signal()
	f.mu.Unlock()
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
	s.mu.Lock()
	for _, f := range s.byKey {
		f.giveUp(errStopping())
	}
	s.mu.Unlock()
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
