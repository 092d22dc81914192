package storetest

import (
	"fmt"
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
