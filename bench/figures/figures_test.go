package figures_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/windlass-dev/windlass/bench/figures"
	"github.com/windlass-dev/windlass/libs/testmain"
)

func TestMain(m *testing.M) { testmain.Verify(m) }

func TestOnlyALossBeyondTheNoiseIsWorse(t *testing.T) {
	for _, row := range []struct {
		name      string
		then, now figures.Figure
		worse     bool
	}{
		{name: "as before", then: figures.Figure{Value: 10}, now: figures.Figure{Value: 10}},
		{name: "a tenth slower", then: figures.Figure{Value: 10}, now: figures.Figure{Value: 10.9}},
		{name: "more than a tenth slower", then: figures.Figure{Value: 10}, now: figures.Figure{Value: 11.1}, worse: true},
		{name: "within the noise of the present run", then: figures.Figure{Value: 10}, now: figures.Figure{Value: 11.9, Noise: 0.1}},
		{name: "within the noise of the recorded run", then: figures.Figure{Value: 10, Noise: 0.1}, now: figures.Figure{Value: 11.9}},
		{name: "beyond the noise", then: figures.Figure{Value: 10, Noise: 0.1}, now: figures.Figure{Value: 12.1, Noise: 0.05}, worse: true},
		{name: "half the time", then: figures.Figure{Value: 10}, now: figures.Figure{Value: 5}},
		{name: "a higher rate", then: figures.Figure{Value: 100, More: true}, now: figures.Figure{Value: 150, More: true}},
		{name: "a lower rate", then: figures.Figure{Value: 100, More: true}, now: figures.Figure{Value: 89, More: true}, worse: true},
	} {
		got := figures.Compare([]figures.Figure{row.then}, []figures.Figure{row.now})
		if len(got) != 1 || got[0].Worse() != row.worse {
			t.Errorf("%s: %+v, want worse %t", row.name, got, row.worse)
		}
	}
}

func TestWhatWasNotRecordedIsNotCompared(t *testing.T) {
	recorded := []figures.Figure{{Row: "zero, 1", Name: "turn p50", Value: 3}, {Row: "zero, 1", Name: "memory"}}
	measured := []figures.Figure{
		{Row: "zero, 16", Name: "turn p50", Value: 9}, {Row: "zero, 1", Name: "turn p50", Value: 3}, {Row: "zero, 1", Name: "memory", Value: 1},
	}
	if got := figures.Compare(recorded, measured); len(got) != 1 || got[0].Row != "zero, 1" || got[0].Ratio != 1 {
		t.Errorf("compared %+v", got)
	}
}

func TestABookIsOfOneMachine(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "recorded")
	book, err := figures.Open(folder, "2 processors, Intel(R) Xeon(R), 8 GiB")
	if err != nil || len(book.Runs) != 0 {
		t.Fatalf("%+v, %v", book, err)
	}
	file, err := book.Record("default", figures.Run{Commit: "abc", Values: []figures.Figure{{Row: "zero, 1", Name: "turn p50", Value: 3}}})
	if err != nil || filepath.Base(file) != "2-processors-intel-r-xeon-r-8-gib.json" {
		t.Fatalf("%s, %v", file, err)
	}
	if _, err := book.Record("quick", figures.Run{Commit: "def"}); err != nil {
		t.Fatal(err)
	}
	again, err := figures.Open(folder, book.Machine)
	if err != nil || again.Runs["default"].Commit != "abc" || again.Runs["quick"].Commit != "def" {
		t.Errorf("%+v, %v", again, err)
	}
	if other, err := figures.Open(folder, "another machine"); err != nil || len(other.Runs) != 0 {
		t.Errorf("%+v, %v", other, err)
	}
	if err := os.WriteFile(file, []byte("no JSON"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := figures.Open(folder, book.Machine); err == nil {
		t.Error("a broken file is read as one without figures")
	}
}
