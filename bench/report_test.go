package main

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/windlass-dev/windlass/bench/model"
	"github.com/windlass-dev/windlass/bench/process"
)

// found returns a report with one turn in each row.
func found(first, total time.Duration, rss int64) *report {
	mesh := outcome{samples: []sample{{first: first, total: total, turn: "trn_1"}}, elapsed: 20 * time.Millisecond}
	floor := outcome{samples: []sample{{first: time.Millisecond, total: 2 * time.Millisecond}}, elapsed: 2 * time.Millisecond}
	used := process.Usages{process.Windlass: {CPU: 7 * time.Millisecond}, process.Temporal: {CPU: 11 * time.Millisecond}}
	var rows []row
	for _, p := range []planned{
		{model: model.Instant, concurrency: 1}, {model: model.Paced, concurrency: 1}, {model: model.Instant, concurrency: 64},
	} {
		rows = append(rows, row{
			model: p.model, concurrency: p.concurrency, rounds: 1, rest: time.Millisecond, mesh: mesh, floor: floor,
			used: used, turns: 1, floors: 1,
		})
	}
	return &report{
		options: options{tokens: 20, args: []string{"-quick"}}, date: time.Unix(0, 0),
		deployments: []*deployment{{
			name: embeddedMesh, database: "SQLite", rows: rows, turns: 3, historyBytes: 3500, historyLen: 25,
			idle: process.Usages{}, peak: process.Usages{process.Windlass: {RSS: rss}},
			timelines: map[string][]moment{model.Instant: {{name: "turn.queued", at: time.Millisecond}}},
		}},
	}
}

func TestReportSaysWhatWasFound(t *testing.T) {
	r := found(20*time.Millisecond, 60*time.Millisecond, 300<<20)
	r.options.timeline = true
	d := r.deployments[0]
	d.rows = append(d.rows, row{
		model: model.Instant, concurrency: 1, rounds: manyRounds, rest: time.Millisecond, turns: 1, floors: 1, used: d.rows[0].used,
		floor: d.rows[0].floor,
		mesh:  outcome{samples: []sample{{first: 20 * time.Millisecond, total: 116 * time.Millisecond}}, elapsed: time.Second},
	})
	d.steady = &steady{
		rate: 40, lasted: time.Minute, turns: 2400, first: spread{p50: 10 * time.Millisecond},
		last: spread{p50: 13 * time.Millisecond}, left: 5,
	}
	for form, text := range map[string]string{"text": r.text(), "markdown": r.markdown()} {
		for _, want := range []string{
			"58.0", "19.0", "30.0x", "18.0", "3500 bytes in 25 events", "300 MiB", "turn.queued", "missed", "50.0",
			"7.0 ms", "1.3 times, 5 turns in progress", "2400", "zero, 9 calls, added",
		} {
			if !strings.Contains(text, want) {
				t.Errorf("%s: no %q in\n%s", form, want, text)
			}
		}
	}
	r.options.postgres, r.options.args = "postgres://u:secret@db/w", []string{"-postgres", "postgres://u:secret@db/w"}
	if got := r.markdown(); strings.Contains(got, "secret") || !strings.Contains(got, "ARGS='-postgres DSN'") {
		t.Error("the page tells the database's address")
	}
	r.options.postgres, r.options.args = "", []string{"-quick"}
	if !strings.Contains(r.markdown(), "make bench ARGS='-quick'") {
		t.Error("the document does not say how it was made")
	}
}

func TestCheckAllowsWhatIsNotFar(t *testing.T) {
	for _, row := range []struct {
		name         string
		first, total time.Duration
		rss          int64
		fails        bool
	}{
		{name: "all met", first: 20 * time.Millisecond, total: 40 * time.Millisecond, rss: 100 << 20},
		{name: "missed, but not by far", first: 45 * time.Millisecond, total: 90 * time.Millisecond, rss: 700 << 20},
		{name: "slow", first: 20 * time.Millisecond, total: 100 * time.Millisecond, rss: 100 << 20, fails: true},
		{name: "large", first: 20 * time.Millisecond, total: 40 * time.Millisecond, rss: 900 << 20, fails: true},
		{name: "no memory to be seen on this system", first: 20 * time.Millisecond, total: 40 * time.Millisecond},
	} {
		if err := found(row.first, row.total, row.rss).check(); errors.Is(err, errReach) != row.fails {
			t.Errorf("%s: got %v", row.name, err)
		}
	}
}
