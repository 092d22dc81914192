package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/windlass-dev/windlass/bench/figures"
	"github.com/windlass-dev/windlass/bench/model"
	"github.com/windlass-dev/windlass/bench/process"
	"github.com/windlass-dev/windlass/bench/toolcall"
	"github.com/windlass-dev/windlass/libs/backoff"
)

// bench runs all measurements.
type bench struct {
	options  options
	progress io.Writer
	model    *model.Server
}

// rounds is how often mesh and floor alternate within a row, so that a busy machine affects both.
const rounds = 4

// say reports progress.
func (b *bench) say(format string, args ...any) { fmt.Fprintf(b.progress, format+"\n", args...) }

// verbose gets what the mesh says; nil = nobody wants it.
func (b *bench) verbose() io.Writer {
	if !b.options.verbose {
		return nil
	}
	return b.progress
}

// measure runs all deployments.
func (b *bench) measure(ctx context.Context) (_ *report, err error) {
	if b.model, err = model.New(b.options.tokens, b.options.pace); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, b.model.Close()) }()
	r := &report{options: b.options, machine: figures.Describe(ctx), date: time.Now()}
	for _, name := range b.options.deployments {
		d, err := b.deployment(ctx, name)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		r.deployments = append(r.deployments, d)
	}
	return r, nil
}

// deployment holds the results of one deployment of the mesh.
type deployment struct {
	name, database string
	startup        time.Duration
	// idleCores is the mesh's processor use without requests; idle and busy are its memory after the start and after all rows, peak the
	// maximum seen.
	idleCores  float64
	idle, peak process.Usages
	// turns is the total number of turns when peak was taken.
	turns        int
	rows         []row
	timelines    map[string][]moment // by model
	historyBytes int64
	historyLen   int64
	steady       *steady // nil if it was left out
	calls        []toolcall.Row
	commits      *commits // nil on PostgreSQL
}

// row is mesh and floor under the same conditions.
type row struct {
	model         string
	concurrency   int
	rounds        int // tool calls per turn
	rest          time.Duration
	mesh, floor   outcome
	used          process.Usages // by the mesh's turns
	worked        time.Duration  // of the mesh: until it was idle again
	turns, floors int
	// halves and floorHalves are of every other block of mesh and floor.
	halves, floorHalves [2]outcome
}

func (b *bench) deployment(ctx context.Context, name string) (_ *deployment, err error) {
	b.say("%s: starting", name)
	begin := time.Now()
	m, err := startMesh(ctx, name, b.options, b.model.URL, b.verbose())
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, m.stop()) }()
	d := &deployment{name: name, database: "SQLite", startup: time.Since(begin), timelines: map[string][]moment{}}
	if b.options.postgres != "" {
		d.database = "PostgreSQL"
	}
	warm, err := b.warmUp(ctx, m, d)
	if err != nil {
		return nil, err
	}
	if err := b.toolCalls(ctx, m, d); err != nil {
		return nil, err
	}
	if b.options.onlyTools {
		return d, nil
	}
	for _, p := range b.plan(warm.rate()) {
		r, err := b.row(ctx, m, d, p)
		if err != nil {
			return nil, fmt.Errorf("%s, %d at once: %w", p.model, p.concurrency, err)
		}
		d.rows = append(d.rows, r)
	}
	if err := b.histories(ctx, m, d); err != nil {
		return nil, err
	}
	if err := b.commits(ctx, m, d); err != nil {
		return nil, err
	}
	return d, b.steady(ctx, m, d)
}

// planned is a planned row.
type planned struct {
	model                              string
	rounds, concurrency, turns, floors int
	// rest is the pause after each turn, so that the next one finds an idle mesh.
	rest time.Duration
}

// manyRounds is the number of tool calls in the turns that measure the cost of a further call.
const manyRounds = 9

// plan chooses the numbers of turns: as configured for those run one at a time, and by the rate in the warm-up for the others.
func (b *bench) plan(rate float64) []planned {
	o := b.options
	out := []planned{
		{model: model.Instant, rounds: 1, concurrency: 1, turns: o.alone, floors: o.alone, rest: o.rest},
		{model: model.Paced, rounds: 1, concurrency: 1, turns: o.alonePaced, floors: o.alonePaced, rest: o.rest},
		{model: model.Instant, rounds: manyRounds, concurrency: 1, turns: max(o.alone/4, 1), floors: max(o.alone/4, 1), rest: o.rest},
	}
	if o.rest > 0 {
		out = append(out, planned{model: model.Instant, rounds: 1, concurrency: 1, turns: o.alone, floors: o.alone})
	}
	alone := (o.pace.First + time.Duration(o.tokens-1)*o.pace.Next) * 2
	for _, name := range []string{model.Instant, model.Paced} {
		for _, c := range o.concurrency {
			n := rate * o.load.Seconds()
			if name == model.Paced {
				n = min(n, float64(c)*o.load.Seconds()/alone.Seconds())
			}
			turns := max(int(n), 6*c)
			floors := 8 * turns
			if name == model.Paced {
				floors = 4 * c
			}
			out = append(out, planned{model: name, rounds: 1, concurrency: c, turns: turns, floors: floors})
		}
	}
	return out
}

// warmUp runs turns with both models until the mesh has its connections and caches, and measures it idle before and after.
func (b *bench) warmUp(ctx context.Context, m *mesh, d *deployment) (outcome, error) {
	if err := m.settle(ctx, 0); err != nil {
		return outcome{}, err
	}
	const rest = 2 * time.Second
	before := m.usage()
	if err := backoff.Sleep(ctx, rest); err != nil {
		return outcome{}, err
	}
	d.idle = m.usage()
	used := d.idle.Since(before)
	d.idleCores = (used[process.Windlass].CPU + used[process.Temporal].CPU).Seconds() / rest.Seconds()
	b.say("%s: warming up", d.name)
	slow := &client{mesh: m, agent: model.Paced, apart: b.options.apart}
	if _, err := b.turns(ctx, d, slow, 1, 2); err != nil {
		return outcome{}, err
	}
	quick := &client{mesh: m, agent: model.Instant, apart: b.options.apart}
	if _, err := b.turns(ctx, d, quick, 8, b.options.warmUp); err != nil {
		return outcome{}, err
	}
	out, err := b.turns(ctx, d, quick, 16, b.options.warmUp)
	return out, errors.Join(err, m.settle(ctx, d.idleCores))
}

// turns prepares sessions and runs turns.
func (b *bench) turns(ctx context.Context, d *deployment, c *client, concurrency, n int) (outcome, error) {
	if err := c.prepare(ctx, n); err != nil {
		return outcome{}, err
	}
	d.turns += n
	return loop(ctx, concurrency, n, c.turn)
}

// row measures mesh and floor in alternating blocks.
func (b *bench) row(ctx context.Context, m *mesh, d *deployment, p planned) (row, error) {
	b.say("%s: model %s, %d at once, %d turns of %d tool calls", d.name, p.model, p.concurrency, p.turns, p.rounds)
	c := &client{mesh: m, agent: p.model, rounds: p.rounds, timeline: p.concurrency == 1, apart: b.options.apart}
	if p.rounds > 1 { // so that the model has seen what the floor is to send
		if _, err := b.turns(ctx, d, c, 1, 2); err != nil {
			return row{}, err
		}
	}
	f, err := newFloor(ctx, b.model, p.model, p.rounds, m.calculator)
	if err != nil {
		return row{}, fmt.Errorf("floor: %w", err)
	}
	defer f.http.CloseIdleConnections()
	if _, err := loop(ctx, p.concurrency, 2*p.concurrency, f.turn); err != nil { // opens the connections
		return row{}, fmt.Errorf("floor: %w", err)
	}
	r := row{
		model: p.model, concurrency: p.concurrency, rounds: p.rounds, rest: p.rest, turns: p.turns, floors: p.floors, used: process.Usages{},
	}
	blocks := min(rounds, p.turns)
	if p.concurrency > 1 {
		blocks = len(r.halves)
	}
	for i := range blocks {
		half := i % len(r.halves)
		if err := r.floorBlock(ctx, f, half, share(p.floors, blocks, i)); err != nil {
			return row{}, fmt.Errorf("floor: %w", err)
		}
		if err := c.prepare(ctx, share(p.turns, blocks, i)); err != nil {
			return row{}, err
		}
		if err := m.settle(ctx, d.idleCores); err != nil {
			return row{}, err
		}
		if err := r.meshBlock(ctx, m, d, c, half, share(p.turns, blocks, i)); err != nil {
			return row{}, err
		}
	}
	if c.timeline && p.rounds == 1 && p.rest == b.options.rest {
		d.timelines[p.model] = middle(r.mesh.samples)
	}
	return r, nil
}

// resting runs a turn, then waits.
func resting(turn func(context.Context) (sample, error), rest time.Duration) func(context.Context) (sample, error) {
	return func(ctx context.Context) (sample, error) {
		s, err := turn(ctx)
		if err == nil && rest > 0 {
			err = backoff.Sleep(ctx, rest)
		}
		return s, err
	}
}

// share splits n into parts that differ by one at most.
func share(n, parts, i int) int { return (i+1)*n/parts - i*n/parts }

func (r *row) floorBlock(ctx context.Context, f *floor, half, n int) error {
	got, err := loop(ctx, r.concurrency, n, resting(f.turn, r.rest))
	r.floor, r.floorHalves[half] = r.floor.plus(got), r.floorHalves[half].plus(got)
	return err
}

// meshBlock measures what the mesh's processes use until they are idle again: some work is done after clients have their answers.
func (r *row) meshBlock(ctx context.Context, m *mesh, d *deployment, c *client, half, n int) error {
	before, begin := m.usage(), time.Now()
	got, err := loop(ctx, r.concurrency, n, resting(c.turn, r.rest))
	if err != nil {
		return err
	}
	busy := m.usage()
	at, err := m.rested(ctx, d.idleCores)
	if err != nil {
		return err
	}
	used := m.usage().Since(before)
	got.cpu = used[process.Windlass].CPU + used[process.Temporal].CPU
	r.worked += at.Sub(begin)
	r.mesh, r.halves[half] = r.mesh.plus(got), r.halves[half].plus(got)
	d.turns += n
	for group, u := range used {
		r.used[group] = r.used[group].Add(u)
	}
	if d.peak == nil || stack(busy) > stack(d.peak) {
		d.peak = busy
	}
	return nil
}

// sustained is the rate of turns per second that the mesh can sustain: work that follows the answers is included.
func (r row) sustained() float64 { return float64(r.turns) / r.worked.Seconds() }

func (o outcome) plus(more outcome) outcome {
	return outcome{samples: append(o.samples, more.samples...), elapsed: o.elapsed + more.elapsed, cpu: o.cpu + more.cpu}
}

// stack is the memory of everything that windlass up runs, except tool servers.
func stack(u process.Usages) int64 { return u[process.Windlass].RSS + u[process.Temporal].RSS }

// histories measures the size of some turns' workflow histories.
func (b *bench) histories(ctx context.Context, m *mesh, d *deployment) error {
	samples := d.rows[0].mesh.samples
	samples = samples[max(0, len(samples)-20):]
	for _, s := range samples {
		bytes, events, err := m.history(ctx, s.turn)
		if err != nil {
			return err
		}
		d.historyBytes += bytes
		d.historyLen += events
	}
	d.historyBytes /= int64(len(samples))
	d.historyLen /= int64(len(samples))
	return nil
}

// middle returns the median time of each event that most turns had, in order.
func middle(samples []sample) []moment {
	at := map[string][]time.Duration{}
	for _, s := range samples {
		for _, e := range s.events {
			at[e.name] = append(at[e.name], e.at)
		}
	}
	var out []moment
	for name, times := range at {
		if 2*len(times) < len(samples) {
			continue
		}
		slices.Sort(times)
		out = append(out, moment{name: name, at: quantile(times, 0.5)})
	}
	slices.SortFunc(out, func(a, b moment) int { return int(a.at - b.at) })
	return out
}
