package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/windlass-dev/windlass/bench/figures"
	"github.com/windlass-dev/windlass/bench/model"
	"github.com/windlass-dev/windlass/bench/process"
)

// report holds all results.
type report struct {
	options     options
	machine     figures.Machine
	date        time.Time
	deployments []*deployment
}

// section is a table with an explanation.
type section struct {
	title, note string
	table       *table
}

// sections returns the tables of a deployment.
func (d *deployment) sections(timeline bool) []section {
	out := append([]section{{"Goals", "", d.reachTable()}}, d.callSections()...)
	if len(d.rows) == 0 {
		return out
	}
	out = append(out, []section{
		{
			"One turn at a time",
			"Milliseconds since the request was sent. First text: the first part of the answer was received. Without pause: each turn is sent " +
				"when the previous one has ended, while the mesh still completes the work that follows its end. Added: difference of the quantiles. " +
				"Ratio: Windlass to floor.", d.latency(),
		},
		{
			"Many at once",
			"Closed loop: each client sends its next turn when it has the answer to the previous one. Each turn has a session of its own. " +
				"turns/s: all turns divided by the time until the last one ended, so a few slow turns at the end lower it. " +
				"sustained: all turns divided by the time until the mesh was idle again, because some work, mostly Temporal's, follows the answers.",
			d.throughput(),
		},
		{
			"Processor time", "Milliseconds of processor time per turn, measured until the mesh is idle again and including its idle usage. " +
				"bench includes the floor's calls and the model server.", d.processor(),
		},
		{
			"Memory", "MiB of resident memory, counted per process, including program code that several processes share.", d.memory(),
		},
	}...)
	if d.commits != nil {
		out = append(out, section{
			"Commits", "What one turn at a time commits to each SQLite database until the mesh is idle again.",
			d.commits.table(),
		})
	}
	if d.steady != nil {
		note := fmt.Sprintf("Open loop: turns are sent at 80 %% of the sustained rate of %d at once, for %s, regardless of whether earlier "+
			"turns have ended. Milliseconds.", reachAt, d.steady.lasted)
		out = append(out, section{"Steady load", note, d.steady.table()})
	}
	for _, model := range []string{model.Instant, model.Paced} {
		if !timeline {
			break
		}
		out = append(out, section{
			"Timeline, model time " + modelTitle(model),
			"When the events of a turn were written, p50, one at a time; milliseconds from sending the request.",
			timelineTable(d.timelines[model]),
		})
	}
	return out
}

func (d *deployment) reachTable() *table {
	t := &table{head: []string{"goal", "target", "measured", ""}}
	for _, r := range d.reaches() {
		t.add(r.name, r.want, r.got, r.verdict())
	}
	return t
}

func modelTitle(name string) string {
	if name == model.Paced {
		return "paced"
	}
	return "zero"
}

func (d *deployment) latency() *table {
	t := &table{head: []string{"model time, system", "accepted p50", "first text p50", "p99", "turn p50", "p99"}}
	for _, r := range d.rows {
		if r.concurrency > 1 {
			continue
		}
		name := modelTitle(r.model)
		if r.rounds > 1 {
			name += fmt.Sprintf(", %d calls", r.rounds)
		}
		name += r.hurry()
		floorFirst, floorTotal := spreadOf(r.floor.samples, firstOf), spreadOf(r.floor.samples, totalOf)
		first, total := spreadOf(r.mesh.samples, firstOf), spreadOf(r.mesh.samples, totalOf)
		t.add(name+", floor", "", millis(floorFirst.p50), millis(floorFirst.p99), millis(floorTotal.p50), millis(floorTotal.p99))
		t.add(name+", windlass", millis(spreadOf(r.mesh.samples, acceptedOf).p50), millis(first.p50), millis(first.p99), millis(total.p50),
			millis(total.p99))
		addedFirst, addedTotal := r.addedFirst(), r.addedTotal()
		t.add(name+", added", "", millis(addedFirst.p50), millis(addedFirst.p99), millis(addedTotal.p50), millis(addedTotal.p99))
		t.add(name+", ratio", "", ratio(first.p50, floorFirst.p50), ratio(first.p99, floorFirst.p99), ratio(total.p50, floorTotal.p50),
			ratio(total.p99, floorTotal.p99))
	}
	return t
}

func (d *deployment) throughput() *table {
	t := &table{head: []string{
		"model time, at once", "turns", "turns/s", "sustained", "floor turns/s", "of floor", "first text p50", "p99",
		"turn p50", "p99",
	}}
	for _, r := range d.rows {
		if r.concurrency == 1 {
			continue
		}
		first, total := spreadOf(r.mesh.samples, firstOf), spreadOf(r.mesh.samples, totalOf)
		t.add(fmt.Sprintf("%s, %d", modelTitle(r.model), r.concurrency), fmt.Sprint(r.turns),
			fmt.Sprintf("%.1f", r.mesh.rate()), fmt.Sprintf("%.1f", r.sustained()), fmt.Sprintf("%.0f", r.floor.rate()),
			fmt.Sprintf("%.1f %%", 100*r.mesh.rate()/r.floor.rate()),
			millis(first.p50), millis(first.p99), millis(total.p50), millis(total.p99))
	}
	return t
}

func (d *deployment) processor() *table {
	t := &table{head: []string{"model time, at once", process.Windlass, process.Temporal, "both", process.Tools, process.Bench}}
	for _, r := range d.rows {
		each := func(groups ...string) string {
			var sum time.Duration
			for _, g := range groups {
				sum += r.used[g].CPU
			}
			return millis(sum / time.Duration(r.turns))
		}
		t.add(r.title(),
			each(process.Windlass), each(process.Temporal), each(process.Windlass, process.Temporal), each(process.Tools), each(process.Bench))
	}
	return t
}

func (d *deployment) memory() *table {
	t := &table{head: []string{"when", process.Windlass, process.Temporal, "both", process.Tools}}
	for _, at := range []struct {
		name string
		u    process.Usages
	}{{"after start, idle", d.idle}, {fmt.Sprintf("maximum, in %d turns", d.turns), d.peak}} {
		t.add(at.name, mebi(at.u[process.Windlass].RSS), mebi(at.u[process.Temporal].RSS), mebi(stack(at.u)), mebi(at.u[process.Tools].RSS))
	}
	return t
}

func timelineTable(events []moment) *table {
	t := &table{head: []string{"event", "at", "after the one before"}}
	var last time.Duration
	for _, m := range events {
		t.add(m.name, millis(m.at), millis(m.at-last))
		last = m.at
	}
	return t
}

// facts returns single figures.
func (d *deployment) facts() []string {
	if len(d.rows) == 0 {
		return nil
	}
	return []string{
		fmt.Sprintf("Workflow history of a turn: %d bytes in %d events.", d.historyBytes, d.historyLen),
		fmt.Sprintf("When idle, the mesh uses %.1f %% of one processor. It starts and receives its agents and tools in %.1f s.", 100*d.idleCores,
			d.startup.Seconds()),
	}
}

// text formats the report for a terminal.
func (r *report) text() string {
	var b strings.Builder
	m := r.machine
	fmt.Fprintf(&b, "%s, %s, %s, %s, load %s at the start\n", m.Processor, m.Memory, m.System, m.Go, m.Load)
	for _, d := range r.deployments {
		fmt.Fprintf(&b, "\n== %s, %s\n", d.name, d.database)
		for _, s := range d.sections(r.options.timeline) {
			fmt.Fprintf(&b, "\n%s\n%s", s.title, s.table.text())
		}
		fmt.Fprintf(&b, "\n%s\n", strings.Join(d.facts(), "\n"))
	}
	return b.String()
}

func millis(d time.Duration) string {
	ms := float64(d) / float64(time.Millisecond)
	if ms >= 100 || ms <= -100 {
		return fmt.Sprintf("%.0f", ms)
	}
	return fmt.Sprintf("%.1f", ms)
}

func mebi(n int64) string { return fmt.Sprintf("%.0f", float64(n)/(1<<20)) }

func ratio(a, b time.Duration) string {
	if b <= 0 {
		return "-"
	}
	return fmt.Sprintf("%.1fx", float64(a)/float64(b))
}
