package main

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/windlass-dev/windlass/bench/model"
	"github.com/windlass-dev/windlass/bench/process"
	"github.com/windlass-dev/windlass/libs/backoff"
)

// steadyShare is the fraction of the sustainable rate that a mesh is offered for long.
const steadyShare = 0.8

// steady is the result of turns at a fixed rate, whether or not earlier ones have ended: an open loop.
type steady struct {
	rate        float64
	lasted      time.Duration
	turns       int
	first, last spread // of the turns in the first and in the last third
	left        int64  // running turns when the last one was sent
	used        process.Usages
}

// steady offers the mesh a fraction of its sustainable rate, as measured with most turns at once, and checks whether they pile up.
func (b *bench) steady(ctx context.Context, m *mesh, d *deployment) error {
	i := slices.IndexFunc(d.rows, func(r row) bool { return r.model == model.Instant && r.concurrency == reachAt })
	if b.options.steady <= 0 || i < 0 {
		return nil
	}
	s := &steady{rate: steadyShare * d.rows[i].sustained(), lasted: b.options.steady}
	s.turns = int(s.rate * s.lasted.Seconds())
	b.say("%s: model %s, %.0f turns each second, %d turns", d.name, model.Instant, s.rate, s.turns)
	c := &client{mesh: m, agent: model.Instant, rounds: 1, apart: b.options.apart}
	if err := c.prepare(ctx, s.turns); err != nil {
		return err
	}
	if err := m.settle(ctx, d.idleCores); err != nil {
		return err
	}
	before := m.usage()
	samples, err := s.offer(ctx, c)
	if err != nil {
		return fmt.Errorf("steady load: %w", err)
	}
	busy := m.usage()
	if err := m.settle(ctx, d.idleCores); err != nil {
		return err
	}
	s.used = m.usage().Since(before)
	if d.turns += s.turns; stack(busy) > stack(d.peak) {
		d.peak = busy
	}
	third := s.lasted / 3
	s.first = spreadOf(slices.DeleteFunc(slices.Clone(samples), func(x sample) bool { return x.began >= third }), totalOf)
	s.last = spreadOf(slices.DeleteFunc(slices.Clone(samples), func(x sample) bool { return x.began < 2*third }), totalOf)
	d.steady = s
	return nil
}

// offer sends each turn at its time, and waits for all.
func (s *steady) offer(ctx context.Context, c *client) ([]sample, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var (
		under   atomic.Int64
		mu      sync.Mutex
		samples []sample
		all     sync.WaitGroup
	)
	start := time.Now()
	for i := range s.turns {
		began := time.Duration(float64(i) / s.rate * float64(time.Second))
		if backoff.Sleep(ctx, time.Until(start.Add(began))) != nil {
			break // a turn failed, or we were stopped
		}
		under.Add(1)
		all.Go(func() {
			defer under.Add(-1)
			one, err := c.turn(ctx)
			if err != nil {
				cancel(err)
				return
			}
			one.began = began
			mu.Lock()
			defer mu.Unlock()
			samples = append(samples, one)
		})
	}
	s.left = under.Load()
	all.Wait()
	return samples, context.Cause(ctx)
}

// table formats it.
func (s *steady) table() *table {
	t := &table{head: []string{
		"turns/s offered", "turns", "turn p50, first third", "p99", "last third", "p99", "in progress at the end",
		"processor, windlass", "temporal",
	}}
	each := func(group string) string { return millis(s.used[group].CPU / time.Duration(max(s.turns, 1))) }
	t.add(fmt.Sprintf("%.0f", s.rate), fmt.Sprint(s.turns), millis(s.first.p50), millis(s.first.p99), millis(s.last.p50), millis(s.last.p99),
		fmt.Sprint(s.left), each(process.Windlass), each(process.Temporal))
	return t
}
