package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/windlass-dev/windlass/bench/model"
	"github.com/windlass-dev/windlass/bench/process"
)

// Goals for a turn: one at a time, and 64 at once.
const (
	reachFirst = 3 * time.Millisecond
	reachTurn  = 5 * time.Millisecond
	reachRound = 2500 * time.Microsecond
	reachCPU   = 15 * time.Millisecond
	reachRSS   = 400 << 20
	reachRate  = 100
	reachAt    = 64
	// reachGrowth is by how much turns may slow down under a steady load.
	reachGrowth = 1.5
)

// reach is a goal and how it was met.
type reach struct {
	name, want, got string
	// missed is 1 at the goal, 2 if it is missed by a factor of two, below 1 if there is room.
	missed float64
	// allowed is the limit of missed for -check.
	allowed float64
}

// reaches compares a deployment with the goals.
func (d *deployment) reaches() []reach {
	var out []reach
	for _, r := range d.rows {
		switch {
		case r.concurrency == 1 && r.rounds > 1:
			out = append(out, d.roundReach(r)...)
		case r.concurrency == 1:
			time := "model time " + modelTitle(r.model) + r.hurry()
			first, total := r.addedFirst().p50, r.addedTotal().p50
			out = append(out,
				reach{"added time to first token, p50, " + time, "≤ 3 ms", millis(first) + " ms", float64(first) / float64(reachFirst), 16},
				reach{"added turn time, p50, " + time, "≤ 5 ms", millis(total) + " ms", float64(total) / float64(reachTurn), 18},
			)
		case r.concurrency == reachAt && r.model == model.Instant:
			cpu := (r.used[process.Windlass].CPU + r.used[process.Temporal].CPU) / time.Duration(max(r.turns, 1))
			out = append(out,
				reach{"turns per second, 64 at once", "≥ 100", fmt.Sprintf("%.0f", r.mesh.rate()), reachRate / r.mesh.rate(), 6},
				reach{"processor time of a turn, 64 at once", "≤ 15 ms", millis(cpu) + " ms", float64(cpu) / float64(reachCPU), 4},
			)
		}
	}
	if s := d.steady; s != nil && s.first.p50 > 0 {
		growth := float64(s.last.p50) / float64(s.first.p50)
		got := fmt.Sprintf("%.1f times, %d turns in progress", growth, s.left)
		out = append(out, reach{
			fmt.Sprintf("growth of turn time in %s at 80 %% of the sustained rate", s.lasted), "≤ 1.5 times", got,
			growth / reachGrowth, 4,
		})
	}
	out = append(out, d.callReaches()...)
	if rss := stack(d.peak); rss > 0 && d.name == embeddedMesh {
		out = append(out, reach{"maximum memory of Windlass and Temporal", "≤ 400 MiB", mebi(rss) + " MiB", float64(rss) / float64(reachRSS), 2})
	}
	return out
}

// hurry marks a row whose turns follow each other without a pause.
func (r row) hurry() string {
	if r.concurrency > 1 || r.rest > 0 {
		return ""
	}
	return ", without pause"
}

// eachRound is what the mesh adds to a turn for each round after the first; false for turns of one round.
func (d *deployment) eachRound(many row) (time.Duration, bool) {
	i := slices.IndexFunc(d.rows, func(r row) bool {
		return r.model == many.model && r.concurrency == 1 && r.rounds == 1 && r.rest == many.rest
	})
	if i < 0 || many.rounds < 2 {
		return 0, false
	}
	return (many.addedTotal().p50 - d.rows[i].addedTotal().p50) / time.Duration(many.rounds-1), true
}

// roundReach compares turns of many rounds with those of one.
func (d *deployment) roundReach(many row) []reach {
	each, ok := d.eachRound(many)
	if !ok {
		return nil
	}
	return []reach{{
		"added turn time per further round, p50, model time zero", "≤ 2.5 ms", millis(each) + " ms",
		float64(each) / float64(reachRound), 10,
	}}
}

func (r reach) verdict() string {
	switch {
	case r.missed <= 1:
		return "met"
	case r.missed <= 2:
		return "missed"
	default:
		return fmt.Sprintf("missed %.1f times", r.missed)
	}
}

// check fails if any goal is missed by more than allowed.
func (r *report) check() error {
	var bad []string
	for _, d := range r.deployments {
		for _, re := range d.reaches() {
			if re.missed > re.allowed {
				bad = append(bad, fmt.Sprintf("%s: %s is %s, target %s", d.name, re.name, re.got, re.want))
			}
		}
	}
	if len(bad) > 0 {
		return fmt.Errorf("%w: %s", errReach, strings.Join(bad, "; "))
	}
	return nil
}

// addedFirst is what the mesh adds until the first text: the difference of the quantiles, not a quantile of differences.
func (r row) addedFirst() spread {
	return spreadOf(r.mesh.samples, firstOf).minus(spreadOf(r.floor.samples, firstOf))
}

// addedTotal is what the mesh adds to a whole turn, in the same way.
func (r row) addedTotal() spread {
	return spreadOf(r.mesh.samples, totalOf).minus(spreadOf(r.floor.samples, totalOf))
}

func (s spread) minus(o spread) spread { return spread{p50: s.p50 - o.p50, p99: s.p99 - o.p99} }
