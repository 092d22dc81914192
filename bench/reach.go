package main

import (
	"fmt"
	"strings"
	"time"
)

// What a turn may cost, at one turn at a time, and what the embedded mesh has to manage.
const (
	reachFirst = 25 * time.Millisecond
	reachTurn  = 45 * time.Millisecond
	reachRSS   = 400 << 20
	reachRate  = 30
	reachAt    = 64
)

// reach is a goal and how it was met.
type reach struct {
	name, want, got string
	// missed is 1 at the goal, 2 when it is missed by twice, below 1 when there is room.
	missed float64
}

// reaches compares a deployment with the goals.
func (d *deployment) reaches() []reach {
	var out []reach
	for _, r := range d.rows {
		model := "model time zero"
		if r.model == paced {
			model = "model with its own time"
		}
		switch {
		case r.concurrency == 1:
			first, total := r.addedFirst().p50, r.addedTotal().p50
			out = append(out,
				reach{"added time to first token, p50, " + model, "≤ 25 ms", millis(first) + " ms", float64(first) / float64(reachFirst)},
				reach{"added turn time, p50, " + model, "≤ 45 ms", millis(total) + " ms", float64(total) / float64(reachTurn)},
			)
		case r.concurrency == reachAt && r.model == instant:
			out = append(out, reach{"turns per second, 64 at once", "≥ 30", fmt.Sprintf("%.0f", r.mesh.rate()), reachRate / r.mesh.rate()})
		}
	}
	if rss := stack(d.peak); rss > 0 && d.name == embeddedMesh {
		out = append(out, reach{"memory of windlass and Temporal at most", "≤ 400 MiB", mebi(rss) + " MiB", float64(rss) / float64(reachRSS)})
	}
	return out
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

// check fails when any reach is missed by more than twice.
func (r *report) check() error {
	var bad []string
	for _, d := range r.deployments {
		for _, re := range d.reaches() {
			if re.missed > 2 {
				bad = append(bad, fmt.Sprintf("%s: %s is %s, wanted %s", d.name, re.name, re.got, re.want))
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
