// Package backoff says how long to wait between attempts, and waits.
package backoff

import (
	"cmp"
	"context"
	"time"

	"github.com/cenkalti/backoff/v5"
)

// maxSteps is how often a pause grows at most: any has reached the longest one by then.
const maxSteps = 100

// Policy says how long to wait after failures in a row.
type Policy struct {
	// First is the pause after the first failure; Max bounds the pauses, jitter aside.
	First, Max time.Duration
	// Factor is how much longer each further pause is, 0 for 2.
	Factor float64
	// Jitter is the part of a pause by which it is longer or shorter at random: 0.2 for a fifth either way. It keeps those that failed at the same moment
	// from coming back at the same moment.
	Jitter float64
}

// After returns the pause after so many failures in a row, for those who keep their number; less than one counts as one.
func (p Policy) After(failures int) time.Duration {
	b := p.library()
	for range min(failures, maxSteps) - 1 {
		b.NextBackOff()
	}
	return b.NextBackOff()
}

// Start returns the pauses after one failure after another.
func (p Policy) Start() *Pauses { return &Pauses{p.library()} }

func (p Policy) library() *backoff.ExponentialBackOff {
	return &backoff.ExponentialBackOff{
		InitialInterval: min(p.First, p.Max), MaxInterval: p.Max, Multiplier: cmp.Or(p.Factor, 2), RandomizationFactor: p.Jitter,
	}
}

// Pauses are the pauses of one who tries again and again. Not for use by several goroutines at once.
type Pauses struct{ b *backoff.ExponentialBackOff }

// Next returns the pause after another failure.
func (p *Pauses) Next() time.Duration { return p.b.NextBackOff() }

// Wait waits after another failure. It returns ctx.Err() if ctx ends first.
func (p *Pauses) Wait(ctx context.Context) error { return Sleep(ctx, p.Next()) }

// Reset has the next failure be the first one.
func (p *Pauses) Reset() { p.b.Reset() }

// Sleep waits. It returns ctx.Err() if ctx has ended, or ends first.
func Sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 || ctx.Err() != nil {
		return ctx.Err()
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
