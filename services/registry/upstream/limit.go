package upstream

import (
	"context"
	"errors"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/windlass-dev/windlass/libs/fault"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	"github.com/windlass-dev/windlass/services/registry/source"
	"github.com/windlass-dev/windlass/services/registry/store"
)

// limits bounds the calls of each source in this process, so that a slow source holds neither the calls of others nor all memory.
type limits struct {
	calls int           // in parallel, unless a source says otherwise
	queue time.Duration // how long a call waits

	mu       sync.Mutex
	bySource map[string]*limit
}

type limit struct {
	revision uint32 // of the source: a changed definition gets new limits
	slots    chan struct{}
	rate     *rate.Limiter
}

func (l *limits) of(s store.Source) *limit {
	l.mu.Lock()
	defer l.mu.Unlock()
	have, ok := l.bySource[s.ID]
	if ok && have.revision == s.Revision {
		return have
	}
	calls, perSecond := l.calls, rate.Inf
	if s.Spec.MaxCalls > 0 {
		calls = int(s.Spec.MaxCalls)
	}
	if s.Spec.MaxRate > 0 {
		perSecond = rate.Limit(s.Spec.MaxRate)
	}
	have = &limit{revision: s.Revision, slots: make(chan struct{}, calls), rate: rate.NewLimiter(perSecond, max(1, int(s.Spec.MaxRate)))}
	l.bySource[s.ID] = have
	return have
}

func (l *limits) forget(s store.Source) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.bySource, s.ID)
}

// enter waits until the source may be called, and returns the function that ends the call. An error means that nothing was sent.
func (l *limits) enter(ctx context.Context, s store.Source) (func(), *source.Error) {
	waiting, cancel := context.WithTimeout(ctx, l.queue)
	defer cancel()
	of := l.of(s)
	select {
	case of.slots <- struct{}{}:
	default:
		select {
		case of.slots <- struct{}{}:
		case <-waiting.Done():
			return nil, busy(ctx, "source %q has %d calls running, and none ended within %s", s.Name, cap(of.slots), l.queue)
		}
	}
	if err := of.rate.Wait(waiting); err != nil {
		<-of.slots
		return nil, busy(ctx, "source %q may be called %g times per second, and more calls wait than fit into %s", s.Name,
			float64(of.rate.Limit()), l.queue)
	}
	return func() { <-of.slots }, nil
}

func busy(ctx context.Context, format string, args ...any) *source.Error {
	if errors.Is(ctx.Err(), context.Canceled) {
		return source.Unsent(ctx.Err())
	}
	return &source.Error{Outcome: source.Stopped, Fault: fault.Unavailable(faultv1.Reason_REASON_TOOL_UNAVAILABLE,
		format, args...).RetryAfter(time.Second)}
}
