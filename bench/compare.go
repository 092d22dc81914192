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

// comparison compares two builds of the mesh. Both run all the time and alternate, one by one where turns are made one at a
// time and in blocks where many are made at once, so that a machine that is busy for a while hits both alike.
type comparison struct {
	machine figures.Machine
	builds  [2]*deployment // the build to compare with, then that of -bin
	// loss is how much worse a row of the second may be, in parts of one; 0 = a person judges.
	loss float64
}

// variant is one of the two meshes of a comparison.
type variant struct {
	name, deployment string
	options          options
}

// variants returns what is compared: two builds, or one without and with something.
func (o options) variants() (out [2]variant) {
	without := o
	without.open, without.postgres = true, ""
	switch {
	case o.secured:
		return [2]variant{{"security off", splitMesh, without}, {"security on", splitMesh, o}}
	case o.identity:
		return [2]variant{{"local user", embeddedMesh, without}, {"tokens and policies", embeddedMesh, o}}
	case o.replicas > 0:
		return [2]variant{{"windlass up", embeddedMesh, without}, {fmt.Sprintf("%d replicas", o.replicas), replicatedMesh, o}}
	}
	for i, bin := range []string{o.against, o.bin} {
		of := o
		of.bin = bin
		out[i] = variant{bin, embeddedMesh, of}
	}
	return out
}

// maxLoss is how much slower a mesh may be with codec, mutual TLS and access policies.
const maxLoss = 0.05

// blocksOfLoad is how often the builds alternate in a row of concurrent turns.
const blocksOfLoad = 6

// compare measures the build of -against, then that of -bin.
func (b *bench) compare(ctx context.Context) (_ *comparison, err error) {
	if b.model, err = model.New(b.options.tokens, b.options.pace); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, b.model.Close()) }()
	c := &comparison{machine: figures.Describe(ctx)}
	var meshes [2]*mesh
	defer func() {
		for _, m := range meshes {
			if m != nil {
				err = errors.Join(err, m.stop())
			}
		}
	}()
	if b.options.secured {
		c.loss = maxLoss
	}
	for i, v := range b.options.variants() {
		b.say("%s: starting", v.name)
		m, err := startMesh(ctx, v.deployment, v.options, b.model.URL, b.verbose())
		if err != nil {
			return nil, fmt.Errorf("%s: %w", v.name, err)
		}
		meshes[i] = m
		c.builds[i] = &deployment{name: v.name}
	}
	var rate float64
	for i, m := range meshes {
		warm, err := b.warmUp(ctx, m, c.builds[i])
		if err != nil {
			return nil, fmt.Errorf("%s: %w", c.builds[i].name, err)
		}
		rate = max(rate, warm.rate())
	}
	for _, p := range b.plan(rate) {
		if err := b.compareRow(ctx, meshes, c, p); err != nil {
			return nil, fmt.Errorf("%s, %d at once: %w", p.model, p.concurrency, err)
		}
	}
	return c, nil
}

// compareRow runs the turns of a row on both meshes. The order alternates between blocks.
func (b *bench) compareRow(ctx context.Context, meshes [2]*mesh, c *comparison, p planned) error {
	b.say("model %s, %d at once, %d turns of %d tool calls on each", p.model, p.concurrency, p.turns, p.rounds)
	var clients [2]*client
	var rows [2]row
	for i, m := range meshes {
		clients[i] = &client{mesh: m, agent: p.model, rounds: p.rounds, apart: b.options.apart}
		rows[i] = row{model: p.model, concurrency: p.concurrency, rounds: p.rounds, rest: p.rest, turns: p.turns, used: process.Usages{}}
		if err := clients[i].prepare(ctx, p.turns); err != nil {
			return err
		}
	}
	for i, m := range meshes {
		if err := m.settle(ctx, c.builds[i].idleCores); err != nil {
			return err
		}
	}
	blocks := p.turns
	if p.concurrency > 1 {
		blocks = blocksOfLoad
	}
	before := [2]process.Usages{meshes[0].usage(), meshes[1].usage()}
	for block := range blocks {
		for k := range meshes {
			i := (block + k) % len(meshes)
			begin := time.Now()
			got, err := loop(ctx, p.concurrency, share(p.turns, blocks, block), resting(clients[i].turn, p.rest))
			if err != nil {
				return fmt.Errorf("%s: %w", c.builds[i].name, err)
			}
			rows[i].mesh = rows[i].mesh.plus(got)
			half := block / 2 % 2 // so that each half has blocks that came first and blocks that came second
			rows[i].halves[half] = rows[i].halves[half].plus(got)
			if p.concurrency > 1 {
				at, err := meshes[i].rested(ctx, c.builds[i].idleCores)
				if err != nil {
					return err
				}
				rows[i].worked += at.Sub(begin)
			}
		}
	}
	for i, m := range meshes {
		if err := m.settle(ctx, c.builds[i].idleCores); err != nil {
			return err
		}
		rows[i].used = m.usage().Since(before[i])
		c.builds[i].turns += p.turns
		c.builds[i].peak = m.usage()
		c.builds[i].rows = append(c.builds[i].rows, rows[i])
	}
	return nil
}

func (c *comparison) table() *table {
	t := &table{head: []string{"row", "figure", "before", "after", "change", "noise"}}
	add := func(name, figure, unit string, before, after float64, noise string) {
		t.add(name, figure, fmt.Sprintf("%.2f%s", before, unit), fmt.Sprintf("%.2f%s", after, unit), change(before, after), noise)
	}
	in := func(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
	for i, before := range c.builds[0].rows {
		after := c.builds[1].rows[i]
		name := before.title()
		for _, figure := range []struct {
			name string
			of   func(sample) time.Duration
		}{{"accepted p50", acceptedOf}, {"first text p50", firstOf}, {"turn p50", totalOf}} {
			median := func(o outcome) float64 { return in(spreadOf(o.samples, figure.of).p50) }
			add(name, figure.name, " ms", median(before.mesh), median(after.mesh), noise(median, before, after))
		}
		if before.concurrency > 1 {
			add(name, "turns/s", "", before.mesh.rate(), after.mesh.rate(), noise(outcome.rate, before, after))
			add(name, "sustained turns/s", "", before.sustained(), after.sustained(), "")
		}
		for _, group := range []string{process.Windlass, process.Temporal} {
			each := func(r row) float64 { return in(r.used[group].CPU) / float64(r.turns) }
			add(name, "processor time, "+group, " ms", each(before), each(after), "")
		}
	}
	for _, at := range []struct {
		name string
		of   func(*deployment) process.Usages
	}{
		{"started", func(d *deployment) process.Usages { return d.idle }}, {"at the end", func(d *deployment) process.Usages { return d.peak }},
	} {
		memory := func(d *deployment) float64 { return float64(stack(at.of(d))) / (1 << 20) }
		add(at.name, "memory", " MiB", memory(c.builds[0]), memory(c.builds[1]), "")
	}
	return t
}

// noise is how far a figure of one build differs between two halves of its own blocks, the larger one of both builds: a change
// that is smaller says nothing.
func noise(figure func(outcome) float64, builds ...row) string {
	largest := 0.0
	for _, r := range builds {
		if min(figure(r.halves[0]), figure(r.halves[1])) <= 0 {
			return ""
		}
		largest = max(largest, difference(figure, r.halves))
	}
	return fmt.Sprintf("±%.1f %%", 100*largest)
}

// title returns the name of a row.
func (r row) title() string {
	name := fmt.Sprintf("%s, %d", modelTitle(r.model), r.concurrency)
	if r.rounds > 1 {
		name += fmt.Sprintf(", %d calls", r.rounds)
	}
	return name + r.hurry()
}

func change(before, after float64) string {
	if before == 0 {
		return "-"
	}
	return fmt.Sprintf("%+.1f %%", 100*(after/before-1))
}

func (c *comparison) text() string {
	m := c.machine
	return fmt.Sprintf("%s, %s, %s, %s, load %s at the start\nbefore: %s, after: %s\n\n%s", m.Processor, m.Memory, m.System, m.Go, m.Load,
		c.builds[0].name, c.builds[1].name, c.table().text())
}

func (c *comparison) markdown() string { return c.table().markdown() }

// check fails if turns of a row take longer by more than the loss, or fewer are made in a second. Two builds have no goal: a person judges.
func (c *comparison) check() error {
	if c.loss == 0 {
		return nil
	}
	for i, before := range c.builds[0].rows {
		after := c.builds[1].rows[i]
		p50 := func(r row) float64 { return float64(spreadOf(r.mesh.samples, totalOf).p50) }
		slower := p50(before) > 0 && p50(after)/p50(before) > 1+c.loss
		fewer := before.concurrency > 1 && after.mesh.rate() < before.mesh.rate()*(1-c.loss)
		if slower || fewer {
			return fmt.Errorf("%w: %s loses more than %.0f %%", errReach, before.title(), 100*c.loss)
		}
	}
	return nil
}
