package storetest

import (
	"fmt"
	"sync"
	"testing"

	"github.com/windlass-dev/windlass/services/policy/store"
)

// later adds decisions that are committed later: whatever reads decisions finds them.
func later(t *testing.T, s store.Store) {
	t.Helper()
	for i := range 300 {
		d := decision("later", fmt.Sprintf("dec_later_%d", i), begin)
		d.TurnID = ""
		if err := s.AddLater(t.Context(), d); err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			if got, err := s.Get(t.Context(), "later", d.ID); err != nil || got.ID != d.ID {
				t.Errorf("Get = %+v, %v", got, err)
			}
		}
	}
	if all, err := s.List(t.Context(), "later", store.Filter{}, store.Cursor{}, 1000); err != nil || len(all) != 300 {
		t.Errorf("%d decisions listed, %v", len(all), err)
	}
}

// late forgets turns in another replica while their decisions are recorded: none is left with its turn, and none is missing.
func late(t *testing.T, s, other store.Store) {
	t.Helper()
	const turns = 40
	var all sync.WaitGroup
	for i := range turns {
		turn := fmt.Sprintf("trn_late_%d", i)
		all.Go(func() {
			for n := range 5 {
				d := decision("late", fmt.Sprintf("dec_late_%d_%d", i, n), begin)
				d.TurnID = turn
				if err := s.AddLater(t.Context(), d); err != nil {
					t.Error(err)
				}
			}
		})
		all.Go(func() {
			if err := other.Forget(t.Context(), "late", []string{turn}); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	found, err := s.List(t.Context(), "late", store.Filter{}, store.Cursor{}, 1000)
	if err != nil || len(found) != turns*5 {
		t.Errorf("%d decisions, %v", len(found), err)
	}
	for _, d := range found {
		if d.TurnID != "" || d.CallID != "" || d.ArgumentsHash != "" {
			t.Errorf("left of a forgotten turn: %+v", d)
		}
	}
}

// missing adds decisions of which some are stored, and some are about to be.
func missing(t *testing.T, s store.Store) {
	t.Helper()
	var all []store.Decision
	for i := range 6 {
		d := decision("missing", fmt.Sprintf("dec_missing_%d", i), begin)
		record, err := d.Encode()
		if err != nil {
			t.Fatal(err)
		}
		var again store.Decision
		if err := again.Decode(record); err != nil || again != d {
			t.Errorf("decoded %+v, %v, want %+v", again, err, d)
		}
		all = append(all, again)
	}
	if err := s.Add(t.Context(), all[0], nil); err != nil {
		t.Fatal(err)
	}
	if err := s.AddLater(t.Context(), all[1]); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := s.AddMissing(t.Context(), all); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.AddLater(t.Context(), all[2]); err != nil { // it was faster
		t.Fatal(err)
	}
	found, err := s.List(t.Context(), "missing", store.Filter{}, store.Cursor{}, 1000)
	if err != nil || len(found) != len(all) {
		t.Errorf("%d decisions, %v", len(found), err)
	}
}
