package main

import (
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/windlass-dev/windlass/bench/figures"
	"github.com/windlass-dev/windlass/bench/process"
)

// errWorse is returned if a figure is worse than the one recorded for this machine.
var errWorse = errors.New("worse than recorded")

// recordable is a result whose figures are recorded, and compared with recorded ones.
type recordable interface {
	measuredOn() figures.Machine
	figures() []figures.Figure
}

// recorded compares the figures of a result with those of the machine's last record, or records them. It returns errWorse with the names of
// the figures that are worse.
func (b *bench) recorded(r result, out io.Writer) error {
	c, ok := r.(recordable)
	if !ok || b.options.figures == "" {
		return nil
	}
	m := c.measuredOn()
	book, err := figures.Open(b.options.figures, m.ID())
	if err != nil {
		return err
	}
	last, known := book.Runs[b.options.conditions]
	now := figures.Run{Date: time.Now().UTC().Format(time.DateOnly), Commit: m.Commit, Load: m.Load, Values: c.figures()}
	changes := figures.Compare(last.Values, now.Values)
	text := fmt.Sprintf("\nNo figures are recorded for %s, %s; -record does that.\n", m.ID(), b.options.conditions)
	if known {
		text = fmt.Sprintf("\nCompared with %s of %s, load %s at the start\n%s", last.Commit, last.Date, last.Load, changeTable(changes).text())
	}
	if b.options.record {
		file, err := book.Record(b.options.conditions, now)
		if err != nil {
			return err
		}
		text += fmt.Sprintf("\nRecorded in %s\n", file)
	}
	if _, err := io.WriteString(out, text); err != nil {
		return fmt.Errorf("write the comparison: %w", err)
	}
	if worse := worseThan(changes); len(worse) > 0 && !b.options.record {
		return fmt.Errorf("%w: %s", errWorse, strings.Join(worse, "; "))
	}
	return nil
}

func worseThan(changes []figures.Change) []string {
	var out []string
	for _, c := range changes {
		if c.Worse() {
			out = append(out, fmt.Sprintf("%s, %s: %.2f times (allowed: %.0f %%)", c.Row, c.Name, c.Ratio, 100*c.Allowed))
		}
	}
	return out
}

func changeTable(changes []figures.Change) *table {
	t := &table{head: []string{"row", "figure", "recorded", "now", "ratio", "allowed", ""}}
	for _, c := range changes {
		verdict := ""
		if c.Worse() {
			verdict = "worse"
		}
		t.add(c.Row, c.Name, fmt.Sprintf("%.2f", c.Recorded), fmt.Sprintf("%.2f", c.Value), fmt.Sprintf("%.2f", c.Ratio),
			fmt.Sprintf("%.0f %%", 100*c.Allowed), verdict)
	}
	return t
}

func (r *report) measuredOn() figures.Machine { return r.machine }

// figures implements recordable: times are in milliseconds, memory in MiB.
func (r *report) figures() []figures.Figure {
	var out []figures.Figure
	for _, d := range r.deployments {
		for _, f := range slices.Concat(d.turnFigures(), d.callFigures(), d.meshFigures()) {
			if f.Row = d.name + ", " + d.database + ": " + f.Row; f.Value > 0 && !math.IsInf(f.Value, 0) { // others were not measured
				out = append(out, f)
			}
		}
	}
	return out
}

func (d *deployment) turnFigures() []figures.Figure {
	var out []figures.Figure
	for _, r := range d.rows {
		add := func(name string, value, noise float64, more bool) {
			out = append(out, figures.Figure{Row: r.title(), Name: name, Value: value, Noise: noise, More: more})
		}
		if r.concurrency == 1 {
			add("added first text p50", inMillis(r.addedFirst().p50), r.addedNoise(firstOf), false)
			add("added turn p50", inMillis(r.addedTotal().p50), r.addedNoise(totalOf), false)
			if each, ok := d.eachRound(r); ok {
				add("added by each further round, p50", inMillis(each), r.addedNoise(totalOf), false)
			}
		} else {
			noise := max(difference(outcome.rate, r.floorHalves), difference(outcome.rate, r.halves))
			add("turns/s", r.mesh.rate(), noise, true)
			add("sustained turns/s", r.sustained(), noise, true)
		}
		used := r.used[process.Windlass].CPU + r.used[process.Temporal].CPU
		add("processor time of a turn", inMillis(used)/float64(max(r.turns, 1)), difference(outcome.cpuOfTurn, r.halves), false)
	}
	return out
}

func (d *deployment) callFigures() []figures.Figure {
	var out []figures.Figure
	for _, r := range d.calls {
		row := fmt.Sprintf("tool calls, %s, %d", r.Way, r.Callers)
		if r.Callers == 1 {
			out = append(out, figures.Figure{Row: row, Name: "p50", Value: inMillis(r.Through.P50), Noise: r.Noise})
		} else {
			of := r.Through.Rate / r.Direct.Rate
			out = append(out, figures.Figure{Row: row, Name: "rate of direct calls", Value: of, Noise: r.Noise, More: true})
		}
		out = append(out, figures.Figure{Row: row, Name: "processor time of a call", Value: inMillis(r.CPU[process.Windlass]), Noise: r.Noise})
	}
	return out
}

func (d *deployment) meshFigures() []figures.Figure {
	if len(d.rows) == 0 {
		return nil
	}
	out := []figures.Figure{
		{Row: "memory", Name: "after start", Value: float64(stack(d.idle)) / (1 << 20)},
		{Row: "memory", Name: "maximum", Value: float64(stack(d.peak)) / (1 << 20)},
		{Row: "workflow history of a turn", Name: "bytes", Value: float64(d.historyBytes)},
		{Row: "workflow history of a turn", Name: "events", Value: float64(d.historyLen)},
	}
	if d.commits != nil {
		awaited, later := d.commits.sums()
		out = append(out,
			figures.Figure{Row: "commits of a turn", Name: "until its end", Value: float64(awaited.Commits) / countedTurns},
			figures.Figure{Row: "commits of a turn", Name: "after it", Value: float64(later.Commits) / countedTurns})
	}
	return out
}

func inMillis(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// difference is by which part a figure differs between two halves of a row; 0 if a half has none.
func difference(figure func(outcome) float64, halves [2]outcome) float64 {
	return apart(figure(halves[0]), figure(halves[1]))
}

// apart is by which part two values differ; 0 if one of them was not measured.
func apart(a, b float64) float64 {
	if min(a, b) <= 0 {
		return 0
	}
	return max(a, b)/min(a, b) - 1
}

// addedNoise is by which part the median of what the mesh adds differs between the halves of a row.
func (r row) addedNoise(of func(sample) time.Duration) float64 {
	var added [2]float64
	for i := range added {
		added[i] = inMillis(spreadOf(r.halves[i].samples, of).p50 - spreadOf(r.floorHalves[i].samples, of).p50)
	}
	return apart(added[0], added[1])
}

// cpuOfTurn is the processor time of a turn, in milliseconds.
func (o outcome) cpuOfTurn() float64 { return inMillis(o.cpu) / float64(max(len(o.samples), 1)) }
