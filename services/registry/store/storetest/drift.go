package storetest

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/windlass-dev/windlass/services/registry/store"
)

// drift changes tools of a pinned source.
func (s suite) drift(t *testing.T) {
	src := source("pin", "n")
	src.Spec.Pin = true
	if err := s.CreateSource(t.Context(), src); err != nil {
		t.Fatal(err)
	}
	hash := func(raw string) string { return store.DefinitionHash("n__a", []byte(raw)) }
	for i, row := range []struct {
		tools           []string
		want            string // diff
		accepted, found string // of tool a; found empty = not drifted
		count           int
	}{
		{[]string{"a=1", "b"}, "{[n__a n__b] [] [] [] 2}", "1", "", 0},
		{[]string{"a=2", "b"}, "{[] [] [] [n__a] 2}", "1", "2", 1},
		{[]string{"a=2", "b"}, "{[] [] [] [] 2}", "1", "2", 1},
		{[]string{"a=3", "b", "c"}, "{[n__c] [] [] [n__a] 3}", "1", "3", 1},
		{[]string{"a=1", "b"}, "{[] [n__c] [] [] 2}", "1", "", 0}, // back to what is accepted
		{[]string{"b"}, "{[] [n__a] [] [] 1}", "", "", 0},
		{[]string{"a=4", "b"}, "{[] [] [] [n__a] 2}", "1", "4", 1}, // to be gone for a while is no way round
	} {
		if got := fmt.Sprint(s.apply(t, src, row.tools...)); got != row.want {
			t.Errorf("step %d: diff %s, want %s", i, got, row.want)
		}
		if got, err := s.Source(t.Context(), "pin", "n"); err != nil || got.DriftedCount != row.count || got.ToolCount != len(row.tools) {
			t.Errorf("step %d: source %+v, %v", i, got, err)
		}
		if row.accepted == "" {
			continue
		}
		want := ""
		if row.found != "" {
			want = hash(row.found)
		}
		if tool, err := s.Tool(t.Context(), "pin", "n__a"); err != nil || tool.DefinitionHash != hash(row.accepted) || tool.DriftedHash != want {
			t.Errorf("step %d: tool %+v, %v", i, tool, err)
		}
	}
	s.accept(t, src, store.Drift{Name: "n__a", Accepted: hash("1"), Found: hash("4")})
}

func (s suite) accept(t *testing.T, src store.Source, want store.Drift) {
	held, err := s.Drifted(t.Context(), src)
	if err != nil || len(held) != 1 || held[0] != want {
		t.Fatalf("held back: %+v, %v", held, err)
	}
	other := want
	other.Found = want.Accepted
	if err := s.Accept(t.Context(), src, []store.Drift{other}, begin); !errors.Is(err, store.ErrChanged) {
		t.Errorf("another definition: %v", err)
	}
	old := src
	old.Revision++
	if err := s.Accept(t.Context(), old, held, begin); !errors.Is(err, store.ErrChanged) {
		t.Errorf("another revision: %v", err)
	}
	at := begin.Add(2 * time.Hour)
	if err := s.Accept(t.Context(), src, held, at); err != nil {
		t.Fatal(err)
	}
	if tool, err := s.Tool(t.Context(), "pin", "n__a"); err != nil || tool.DefinitionHash != want.Found || tool.DriftedHash != "" ||
		!tool.UpdateTime.Equal(at) {
		t.Errorf("accepted: %+v, %v", tool, err)
	}
	if err := s.Accept(t.Context(), src, held, at); !errors.Is(err, store.ErrChanged) {
		t.Errorf("accepted twice: %v", err)
	}
	if got, err := s.Source(t.Context(), "pin", "n"); err != nil || got.DriftedCount != 0 {
		t.Errorf("source %+v, %v", got, err)
	}
	// Without the pin the next sync takes whatever the source has.
	s.apply(t, src, "a=5", "b")
	free := src
	free.Spec.Pin = false
	if err := s.UpdateSource(t.Context(), free); err != nil {
		t.Fatal(err)
	}
	free.Revision++
	if got := fmt.Sprint(s.apply(t, free, "a=5", "b")); got != "{[] [] [n__a] [] 2}" {
		t.Errorf("unpinned: %s", got)
	}
	if tool, err := s.Tool(t.Context(), "pin", "n__a"); err != nil || tool.DriftedHash != "" ||
		tool.DefinitionHash != store.DefinitionHash("n__a", []byte("5")) {
		t.Errorf("unpinned: %+v, %v", tool, err)
	}
}
