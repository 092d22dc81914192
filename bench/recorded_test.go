package main

import (
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/windlass-dev/windlass/bench/process"
)

func TestARunIsComparedWithTheRecordedOne(t *testing.T) {
	folder := t.TempDir()
	run := func(total time.Duration, args ...string) (string, error) {
		t.Helper()
		o, err := parse(append([]string{"-figures", folder}, args...), io.Discard)
		if err != nil {
			t.Fatal(err)
		}
		var out strings.Builder
		err = (&bench{options: o}).recorded(found(20*time.Millisecond, total, 100<<20), &out)
		return out.String(), err
	}
	if text, err := run(50 * time.Millisecond); err != nil || !strings.Contains(text, "No figures are recorded") {
		t.Errorf("without a record: %v\n%s", err, text)
	}
	if text, err := run(50*time.Millisecond, "-record"); err != nil || !strings.Contains(text, "Recorded in "+folder) {
		t.Errorf("recording: %v\n%s", err, text)
	}
	if text, err := run(52 * time.Millisecond); err != nil || !strings.Contains(text, "1.04") {
		t.Errorf("a little slower: %v\n%s", err, text)
	}
	_, err := run(80 * time.Millisecond)
	if !errors.Is(err, errWorse) || !strings.Contains(err.Error(), "zero, 1, added turn p50: 1.62 times") {
		t.Errorf("much slower: %v", err)
	}
	if text, err := run(80*time.Millisecond, "-quick"); err != nil || !strings.Contains(text, "No figures are recorded") {
		t.Errorf("a run with other flags: %v\n%s", err, text)
	}
	if _, err := run(80*time.Millisecond, "-record"); err != nil {
		t.Errorf("a record of slower figures: %v", err)
	}
	if _, err := run(80 * time.Millisecond); err != nil {
		t.Errorf("as slow as recorded: %v", err)
	}
}

func TestConditionsHoldNoSecret(t *testing.T) {
	for args, want := range map[string]string{
		"":                                  "default",
		"-v -bin x -figures y -record":      "default",
		"-turns 7 -split":                   "-split=true -turns=7",
		"-postgres postgres://u:secret@h/d": "-postgres",
	} {
		o, err := parse(strings.Fields(args), io.Discard)
		if err != nil || o.conditions != want {
			t.Errorf("%q: %q, %v", args, o.conditions, err)
		}
	}
}

func TestOneThingIsMeasuredAtATime(t *testing.T) {
	for _, args := range []string{
		"-long 1 -watchers 1", "-identity -security", "-identity -split", "-replicas 2", "-identity -postgres x", "-watchers -1", "-long 1 -all",
	} {
		if _, err := parse(strings.Fields(args), io.Discard); err == nil {
			t.Errorf("%s: no error", args)
		}
	}
	for args, want := range map[string][2]variant{
		"-identity":               {{name: "local user", deployment: embeddedMesh}, {name: "tokens and policies", deployment: embeddedMesh}},
		"-replicas 2 -postgres x": {{name: "windlass up", deployment: embeddedMesh}, {name: "2 replicas", deployment: replicatedMesh}},
	} {
		o, err := parse(strings.Fields(args), io.Discard)
		if err != nil {
			t.Errorf("%s: %v", args, err)
			continue
		}
		for i, got := range o.variants() {
			if got.name != want[i].name || got.deployment != want[i].deployment || got.options.postgres != "" != (got.deployment == replicatedMesh) {
				t.Errorf("%s: %s on %s with database %q", args, got.name, got.deployment, got.options.postgres)
			}
		}
	}
}

func TestLongRunsAndWatchersSayWhatTheyCost(t *testing.T) {
	turns := func(total time.Duration) row {
		return row{turns: 1, mesh: outcome{samples: []sample{{total: total}}, elapsed: time.Second}}
	}
	of := func(mib int64) process.Usages { return process.Usages{process.Windlass: {RSS: mib << 20}} }
	l := &long{turns: 20_000, first: turns(10 * time.Millisecond), last: turns(12 * time.Millisecond), late: of(300), peak: of(400)}
	w := &watching{n: 1024, opened: time.Second, before: of(100), after: of(120), idle: 0.01, busy: 0.04}
	for name, row := range map[string]struct {
		result recordable
		text   string
		want   []string
		values []float64
	}{
		"long":     {l, l.text(), []string{"20000 turns", "1.20 times", "300"}, []float64{1.2, 300, 400}},
		"watchers": {w, w.text(), []string{"1024", "20.0", "4.0 %"}, []float64{20, 3}},
	} {
		for _, want := range row.want {
			if !strings.Contains(row.text, want) {
				t.Errorf("%s: no %q in\n%s", name, want, row.text)
			}
		}
		for i, f := range row.result.figures() {
			if f.Value < row.values[i]*0.999 || f.Value > row.values[i]*1.001 {
				t.Errorf("%s: %s is %v, want %v", name, f.Name, f.Value, row.values[i])
			}
		}
	}
	if d := difference(outcome.rate, [2]outcome{turns(1).mesh, {}}); d != 0 {
		t.Errorf("a half without turns differs by %v", d)
	}
}
