package begin_test

import (
	"slices"
	"testing"

	knowledgev1 "github.com/windlass-dev/windlass/proto/gen/windlass/knowledge/v1"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/workflows/contract"
	"github.com/windlass-dev/windlass/workflows/turn/step/steptest"
)

// TestSearchesAreForTheInputAsShieldsLeaveIt: a search may send its query to a model, which may not read what a shield hides.
func TestSearchesAreForTheInputAsShieldsLeaveIt(t *testing.T) {
	for _, row := range []struct {
		shield string
		want   []string
		asked  int
	}{
		{"input-flag-ell", []string{"hello", "hello"}, 1},
		{"input-redact-ell", []string{"h***o", "h***o"}, 1},
		{"input-block-ell", nil, 0},
	} {
		t.Run(row.shield, func(t *testing.T) {
			w := steptest.New(t, &sessionsv1.Agent{
				Memory: contract.MemoryRead, Banks: []string{"b"}, Augment: &turnv1.Augment{}, Shields: []string{row.shield},
			})
			w.Facts(recalled("fct_1", "Bonn"))
			w.Passages(&knowledgev1.FoundPassage{Ref: &turnv1.PassageRef{BankId: "b", DocumentId: "doc_1", End: 3}, Text: "one"})
			surface := w.Walk()[0].GetSurface()
			if got := w.Searched(); !slices.Equal(got, row.want) {
				t.Errorf("searched for %q, want %q", got, row.want)
			}
			if len(surface.GetFacts()) != row.asked || len(surface.GetPassages()) != row.asked || len(w.Asked()) != row.asked {
				t.Errorf("surface %v, %d model calls", surface, len(w.Asked()))
			}
		})
	}
}
