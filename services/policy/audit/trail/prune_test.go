package trail_test

import (
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/windlass-dev/windlass/services/policy/audit/trail"
)

// TestWhatIsLeftAfterRetentionCanBeVerified: old records are deleted, by two replicas at once; the rest is whole, later changes to it show,
// and the trail says what was deleted.
func TestWhatIsLeftAfterRetentionCanBeVerified(t *testing.T) {
	onEngines(t, func(e env) {
		tr, other := trail.Of(e.one), trail.Of(e.two)
		for n := range 10 {
			e.add(tr, record("one", n), record("two", n))
		}
		whole, old := e.verify("one", trail.Anchor{}), e.list(trail.Filter{OldestFirst: true})
		var all sync.WaitGroup
		for _, replica := range []*trail.Trail{tr, other} {
			all.Go(func() {
				if err := replica.Prune(e.Context(), at.Add(4*time.Second)); err != nil {
					e.Error(err)
				}
			})
		}
		all.Wait()
		e.add(tr) // the record of what was deleted gets its place
		rep := e.verify("one", trail.Anchor{Seq: whole.Seq, Hash: whole.Hash})
		if rep.BrokenAt != 0 || rep.First != 5 || rep.Records != 7 || rep.Seq != 11 {
			e.Errorf("after 4 of 10 were deleted: %+v", rep)
		}
		left := e.list(trail.Filter{OldestFirst: true})
		if len(left) != 7 || left[0].Seq != 5 || len(e.list(trail.Filter{})) != 7 {
			e.Fatalf("%d records are left, the first is %+v", len(left), left[0])
		}
		if last := left[6]; last.Action != "audit.prune" || last.Resource != "1-4" || !strings.Contains(last.Reason, old[3].Hash) {
			e.Errorf("the record of what was deleted: %+v", last)
		}
		for name, c := range map[string]struct {
			anchor trail.Anchor
			broken int64
		}{
			"the last deleted record":        {trail.Anchor{Seq: 4, Hash: old[3].Hash}, 0},
			"another hash of it":             {trail.Anchor{Seq: 4, Hash: old[2].Hash}, 4},
			"a record that is there":         {trail.Anchor{Seq: 6, Hash: old[5].Hash}, 0},
			"another hash of one that is":    {trail.Anchor{Seq: 6, Hash: old[4].Hash}, 6},
			"a record that is not there yet": {trail.Anchor{Seq: 12, Hash: old[4].Hash}, 12},
		} {
			if rep := e.verify("one", c.anchor); rep.BrokenAt != c.broken {
				e.Errorf("%s: %+v", name, rep)
			}
		}
		if _, err := tr.Verify(e.Context(), "one", trail.Anchor{Seq: 2, Hash: old[1].Hash}); !errors.Is(err, trail.ErrPruned) {
			e.Errorf("a record that was deleted before the last one: %v", err)
		}
		if err := tr.Prune(e.Context(), at); err != nil { // nothing is that old any more
			e.Error(err)
		}
		e.exec(`DELETE FROM audit_records WHERE tenant = 'one' AND seq = 5`)
		if rep := e.verify("one", trail.Anchor{}); rep.BrokenAt != 5 {
			e.Errorf("the oldest record was removed by somebody: %+v", rep)
		}
		if err := tr.Prune(e.Context(), at.Add(time.Hour)); err != nil {
			e.Fatal(err)
		}
		if rep := e.verify("one", trail.Anchor{}); rep.BrokenAt != 5 {
			e.Errorf("retention hides what was removed: %+v", rep)
		}
	})
}
