package main

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/windlass-dev/windlass/bench/hostile"
)

func TestASiegeSaysWhatWasMissed(t *testing.T) {
	turns := func(d time.Duration) outcome { return outcome{samples: []sample{{total: d}}, elapsed: d} }
	for _, row := range []struct {
		name   string
		cpu    time.Duration
		grew   int64
		beside time.Duration
		missed string
	}{
		{"within", time.Second, 64 << 20, 150 * time.Millisecond, ""},
		{"slow", 1100 * time.Millisecond, 0, 150 * time.Millisecond, "bundle: keys"},
		{"large", 0, 65 << 20, 150 * time.Millisecond, "bundle: keys"},
		{"in the way", 0, 0, 160 * time.Millisecond, "p50 of turns"},
	} {
		s := &siege{
			rows:  []stricken{{entrance: "bundle", name: "keys", outcome: "400", cpu: row.cpu, grew: row.grew}},
			alone: turns(100 * time.Millisecond), beside: turns(row.beside),
		}
		if got := strings.Join(s.missed(), ";"); !strings.HasPrefix(got, row.missed) || (got == "") != (row.missed == "") {
			t.Errorf("%s: missed %q, want %q", row.name, got, row.missed)
		}
		if err := s.check(); errors.Is(err, errReach) != (row.missed != "") {
			t.Errorf("%s: %v", row.name, err)
		}
		for form, text := range map[string]string{"text": s.text(), "markdown": s.markdown()} {
			if !strings.Contains(text, "bundle: keys") || !strings.Contains(text, row.missed) {
				t.Errorf("%s, %s:\n%s", row.name, form, text)
			}
		}
	}
}

// TestHostileSchemasAreJSON: a row that is malformed by accident would measure nothing.
func TestHostileSchemasAreJSON(t *testing.T) {
	for entrance, rows := range hostile.Bodies() {
		if !strings.HasSuffix(entrance, "_schema") && entrance != "sessions" && entrance != "agents" {
			continue
		}
		for _, row := range rows {
			if !json.Valid([]byte(row.Text)) {
				t.Errorf("%s: %s is no JSON: %.200s", entrance, row.Name, row.Text)
			}
		}
	}
}

func TestHostileFlags(t *testing.T) {
	for args, ok := range map[string]bool{
		"-hostile": true, "-hostile -only bundle": true, "-hostile -all": false, "-hostile -split": false,
		"-only x": false,
	} {
		if _, err := parse(strings.Fields(args), &strings.Builder{}); (err == nil) != ok {
			t.Errorf("%s: %v", args, err)
		}
	}
}
