// Package backoff computes the pauses between attempts, and waits.
package backoff

import (
	"cmp"
	"context"
	"time"

	"github.com/cenkalti/backoff/v5"
)

// maxSteps is how often a pause can grow: by then every policy has reached its maximum.
const maxSteps = 100

// Policy defines the pauses after consecutive failures.
type Policy struct {
	// First is the pause after the first failure; Max limits the pauses, not counting jitter.
	First, Max time.Duration
	// Factor is the growth of each further pause, 0 for 2.
	Factor float64
	// Jitter is the fraction by which a pause varies at random: 0.2 for a fifth either way. It keeps those that failed together from retrying
	// together.
	Jitter float64
}

// After returns the pause after the given number of consecutive failures, for callers that count them; less than one counts as one.
func (p Policy) After(failures int) time.Duration {
	b := p.library()
	for range min(failures, maxSteps) - 1 {
		b.NextBackOff()
	}
	return b.NextBackOff()
}

// Start returns the pauses after consecutive failures.
func (p Policy) Start() *Pauses { return &Pauses{p.library()} }

func (p Policy) library() *backoff.ExponentialBackOff {
	return &backoff.ExponentialBackOff{
		InitialInterval: min(p.First, p.Max), MaxInterval: p.Max, Multiplier: cmp.Or(p.Factor, 2), RandomizationFactor: p.Jitter,
	}
}

// Pauses counts the failures of one caller. It is not safe for concurrent use.
type Pauses struct{ b *backoff.ExponentialBackOff }

// Next returns the pause after another failure.
func (p *Pauses) Next() time.Duration { return p.b.NextBackOff() }

// Wait waits after another failure. It returns ctx.Err() if ctx ends first.
func (p *Pauses) Wait(ctx context.Context) error { return Sleep(ctx, p.Next()) }

// Reset makes the next failure count as the first one.
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
