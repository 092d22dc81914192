package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/windlass-dev/windlass/bench/figures"
	"github.com/windlass-dev/windlass/bench/model"
	"github.com/windlass-dev/windlass/bench/process"
)

// longAtOnce is how many turns run at once in a long run, and longBlock how many its first and its last block have.
const (
	longAtOnce = 16
	longBlock  = 1000
)

// long is the result of many turns: what a mesh holds after them, and whether it became slower.
type long struct {
	machine     figures.Machine
	turns       int
	first, last row
	// idle is the memory after the start, early after the first block and late after all turns, each when the mesh was idle again; peak is
	// the most that was seen between blocks.
	idle, early, late, peak process.Usages
}

// long makes turns in blocks.
func (b *bench) long(ctx context.Context) (_ *long, err error) {
	out := &long{machine: figures.Describe(ctx), turns: b.options.long}
	err = b.alone(ctx, func(m *mesh, d *deployment) error {
		out.idle = d.idle
		c := &client{mesh: m, agent: model.Instant, apart: b.options.apart}
		blocks := max(out.turns/longBlock, 1)
		for i := range blocks {
			n := share(out.turns, blocks, i)
			b.say("block %d of %d, %d turns", i+1, blocks, n)
			if err := c.prepare(ctx, n); err != nil {
				return err
			}
			r := row{model: model.Instant, concurrency: longAtOnce, rounds: 1, turns: n, used: process.Usages{}}
			if err := r.meshBlock(ctx, m, d, c, 0, n); err != nil {
				return err
			}
			if i == 0 {
				out.first, out.early = r, m.usage()
			}
			if out.last, out.late = r, m.usage(); stack(out.late) > stack(d.peak) {
				d.peak = out.late
			}
			out.peak = d.peak
		}
		return nil
	})
	return out, err
}

// alone starts a mesh, warms it up, and stops it after use.
func (b *bench) alone(ctx context.Context, use func(*mesh, *deployment) error) (err error) {
	if b.model, err = model.New(b.options.tokens, b.options.pace); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.model.Close()) }()
	d := &deployment{name: b.options.deployments[0]}
	m, err := startMesh(ctx, d.name, b.options, b.model.URL, b.verbose())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, m.stop()) }()
	if _, err := b.warmUp(ctx, m, d); err != nil {
		return err
	}
	return use(m, d)
}

func (l *long) table() *table {
	t := &table{head: []string{"turns", "turns/s", "turn p50", "p99", "processor of a turn", "windlass MiB", "temporal MiB", "both MiB"}}
	memory := func(u process.Usages) []string {
		return []string{mebi(u[process.Windlass].RSS), mebi(u[process.Temporal].RSS), mebi(stack(u))}
	}
	t.add(append([]string{"none", "", "", "", ""}, memory(l.idle)...)...)
	for _, r := range []struct {
		name string
		row  row
		u    process.Usages
	}{
		{fmt.Sprintf("the first %d", l.first.turns), l.first, l.early},
		{fmt.Sprintf("the last %d of %d", l.last.turns, l.turns), l.last, l.late},
	} {
		total := spreadOf(r.row.mesh.samples, totalOf)
		used := (r.row.used[process.Windlass].CPU + r.row.used[process.Temporal].CPU) / time.Duration(max(r.row.turns, 1))
		t.add(append([]string{r.name, fmt.Sprintf("%.1f", r.row.mesh.rate()), millis(total.p50), millis(total.p99), millis(used)},
			memory(r.u)...)...)
	}
	t.add(append([]string{"maximum", "", "", "", ""}, memory(l.peak)...)...)
	return t
}

// growth is the p50 of the last turns divided by that of the first ones.
func (l *long) growth() float64 {
	first, last := spreadOf(l.first.mesh.samples, totalOf).p50, spreadOf(l.last.mesh.samples, totalOf).p50
	return float64(last) / float64(max(first, 1))
}

func (l *long) text() string {
	return fmt.Sprintf("%d turns, %d at once, milliseconds; the last ones take %.2f times the first ones' p50\n\n%s", l.turns, longAtOnce,
		l.growth(), l.table().text())
}

func (l *long) markdown() string {
	return "# Many turns\n\nIn milliseconds.\n\n" + l.table().markdown()
}

// check implements result: a person judges.
func (l *long) check() error { return nil }

func (l *long) measuredOn() figures.Machine { return l.machine }

// figures implements recordable.
func (l *long) figures() []figures.Figure {
	row := fmt.Sprintf("%d turns", l.turns)
	return []figures.Figure{
		{Row: row, Name: "p50 of the last to the first", Value: l.growth()},
		{Row: row, Name: "memory after them", Value: float64(stack(l.late)) / (1 << 20)},
		{Row: row, Name: "maximum memory", Value: float64(stack(l.peak)) / (1 << 20)},
	}
}
