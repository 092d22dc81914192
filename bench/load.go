package main

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// sample is one turn as its client saw it; times count from when the client began to send.
type sample struct {
	// begin is when the client begins to send; accepted is the time until the turn is accepted, zero for the floor.
	begin    time.Time
	accepted time.Duration
	// first is when the first text arrived, total when the turn ended.
	first, total time.Duration
	// began is when it was sent, in a steady load.
	began time.Duration
	// turn is its id, empty at the floor.
	turn string
	// events are recorded on request.
	events []moment
}

// moment is when something happened.
type moment struct {
	name string
	at   time.Duration
}

// outcome is the result of a closed loop.
type outcome struct {
	samples []sample
	elapsed time.Duration
	// cpu is the processor time of the mesh, if it was measured.
	cpu time.Duration
}

// rate is turns per second; 0 without turns.
func (o outcome) rate() float64 {
	if o.elapsed <= 0 {
		return 0
	}
	return float64(len(o.samples)) / o.elapsed.Seconds()
}

// loop runs count turns, concurrency at a time: a worker that finishes one starts the next. The first error ends it.
func loop(ctx context.Context, concurrency, count int, turn func(context.Context) (sample, error)) (outcome, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var (
		left    atomic.Int64
		mu      sync.Mutex
		samples = make([]sample, 0, count)
		all     sync.WaitGroup
	)
	left.Store(int64(count))
	start := time.Now()
	for range min(concurrency, count) {
		all.Go(func() {
			for left.Add(-1) >= 0 && ctx.Err() == nil {
				s, err := turn(ctx)
				if err != nil {
					cancel(err)
					return
				}
				mu.Lock()
				samples = append(samples, s)
				mu.Unlock()
			}
		})
	}
	all.Wait()
	if err := context.Cause(ctx); err != nil {
		return outcome{}, fmt.Errorf("after %d turns: %w", len(samples), err)
	}
	return outcome{samples: samples, elapsed: time.Since(start)}, nil
}

// spread is the median and the 99th percentile of some times.
type spread struct{ p50, p99 time.Duration }

func spreadOf(samples []sample, pick func(sample) time.Duration) spread {
	if len(samples) == 0 {
		return spread{}
	}
	all := make([]time.Duration, len(samples))
	for i, s := range samples {
		all[i] = pick(s)
	}
	slices.Sort(all)
	return spread{p50: quantile(all, 0.50), p99: quantile(all, 0.99)}
}

// quantile is the smallest value that q of all do not exceed; sorted must not be empty.
func quantile(sorted []time.Duration, q float64) time.Duration {
	i := int(q*float64(len(sorted))+0.999999) - 1
	return sorted[min(max(i, 0), len(sorted)-1)]
}

func firstOf(s sample) time.Duration    { return s.first }
func totalOf(s sample) time.Duration    { return s.total }
func acceptedOf(s sample) time.Duration { return s.accepted }
