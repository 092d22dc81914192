package upstream

import (
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/sony/gobreaker/v2"
	"google.golang.org/grpc/codes"

	"github.com/windlass-dev/windlass/libs/fault"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	"github.com/windlass-dev/windlass/services/registry/source"
	"github.com/windlass-dev/windlass/services/registry/store"
)

// breakers stop calls to sources that were unreachable several times in a row, and longer than a restart takes: one per source and process.
// An unreachable bridge, and a call that its caller gave up, do not count.
type breakers struct {
	failures uint32
	pause    time.Duration
	patience time.Duration
	log      *slog.Logger

	mu       sync.Mutex
	bySource map[string]breaker
}

type breaker struct {
	*gobreaker.CircuitBreaker[source.Reply]
	revision uint32 // of the source: a changed definition resets the breaker
	outage   *outage
}

// outage is when a source became unreachable.
type outage struct {
	mu    sync.Mutex
	since time.Time
}

// note takes the outcome of a call.
func (o *outage) note(err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case hasReached(err):
		o.since = time.Time{}
	case isUnreachable(err) && o.since.IsZero():
		o.since = time.Now()
	}
}

func (o *outage) lasted(d time.Duration) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return !o.since.IsZero() && time.Since(o.since) >= d
}

// call sends one call, unless the source's calls are stopped.
func (b *breakers) call(s store.Source, send func() (source.Reply, error)) (source.Reply, error) {
	br := b.of(s)
	reply, err := br.Execute(func() (source.Reply, error) {
		reply, err := send()
		br.outage.note(err)
		return reply, err
	})
	if errors.Is(err, gobreaker.ErrOpenState) || errors.Is(err, gobreaker.ErrTooManyRequests) {
		return source.Reply{}, &source.Error{Outcome: source.Stopped, Fault: fault.Unavailable(faultv1.Reason_REASON_TOOL_UNAVAILABLE,
			"source %q could not be reached %d times in a row; calls to it fail at once until it answers again", s.Name,
			b.failures).RetryAfter(b.pause)}
	}
	return reply, err
}

func (b *breakers) of(s store.Source) breaker {
	b.mu.Lock()
	defer b.mu.Unlock()
	have, ok := b.bySource[s.ID]
	if !ok || have.revision != s.Revision {
		have = b.fresh(s)
		b.bySource[s.ID] = have
	}
	return have
}

func (b *breakers) fresh(s store.Source) breaker {
	o := &outage{}
	return breaker{revision: s.Revision, outage: o, CircuitBreaker: gobreaker.NewCircuitBreaker[source.Reply](gobreaker.Settings{
		Name: s.Name, Timeout: b.pause,
		ReadyToTrip:  func(c gobreaker.Counts) bool { return c.ConsecutiveFailures >= b.failures && o.lasted(b.patience) },
		IsSuccessful: hasReached,
		IsExcluded:   func(err error) bool { return !hasReached(err) && !isUnreachable(err) },
		OnStateChange: func(name string, from, to gobreaker.State) {
			b.log.Warn("calls to a source", "source", name, "breaker", stateName(to), "before", stateName(from))
		},
	})}
}

// isUnreachable reports whether a call failed because its tool server was unreachable.
func isUnreachable(err error) bool {
	e, ok := errors.AsType[*source.Error](err)
	return ok && e.ServerAway()
}

// hasReached reports whether a call reached its tool server, or may have, whatever its result.
func hasReached(err error) bool {
	e, ok := errors.AsType[*source.Error](err)
	return err == nil || ok && e.Outcome == source.TooLarge || ok && e.Outcome == source.InDoubt && e.Fault.Code != codes.Canceled
}

// reached resets a source's breaker, since the source answered or was changed.
func (b *breakers) reached(sourceID string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.bySource, sourceID)
}

// state returns "closed", "open" or "half_open".
func (b *breakers) state(s store.Source) string {
	b.mu.Lock()
	have, ok := b.bySource[s.ID]
	b.mu.Unlock()
	if !ok || have.revision != s.Revision {
		return stateName(gobreaker.StateClosed)
	}
	return stateName(have.State())
}

func stateName(s gobreaker.State) string {
	switch s {
	case gobreaker.StateOpen:
		return "open"
	case gobreaker.StateHalfOpen:
		return "half_open"
	default:
		return "closed"
	}
}
