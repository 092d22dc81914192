package storetest

import (
	"fmt"
	"testing"
	"time"

	"github.com/windlass-dev/windlass/services/registry/store"
)

// later records rows that are committed later: whatever reads executions finds them, each with its event.
func (s suite) later(t *testing.T) {
	ctx, n := t.Context(), 0
	add := func(count int) (last store.Execution) {
		t.Helper()
		for range count {
			n++
			last = execution("later", fmt.Sprintf("later-%d", n))
			last.State, last.Effect, last.CreateTime, last.EndTime, last.TurnID = store.Done, store.Read, begin, begin, ""
			last.Cache, last.Result = store.CacheMiss, []byte("result")
			if err := s.RecordLater(ctx, last); err != nil {
				t.Fatal(err)
			}
		}
		return last
	}
	add(400)
	if rows, err := s.Executions(ctx, "later", store.ExecutionFilter{}, store.Cursor{}, 1000); err != nil || len(rows) != 400 {
		t.Errorf("%d rows listed, %v", len(rows), err)
	}
	if got, err := s.ExecutionByID(ctx, "later", add(1).ID); err != nil || string(got.Result) != "result" || got.State != store.Done {
		t.Errorf("ExecutionByID = %+v, %v", got, err)
	}
	add(1)
	if use, err := s.CacheUse(ctx, "later", begin.Add(-time.Hour)); err != nil || use.Misses != int64(n) {
		t.Errorf("CacheUse = %+v, %v", use, err)
	}
	add(1)
	if used, err := s.ToolUsage(ctx, "later", store.UsageFilter{Since: begin.Add(-time.Hour)}, 1000, 10); err != nil || len(used) != 1 ||
		used[0].Calls != int64(n) {
		t.Errorf("ToolUsage = %+v, %v", used, err)
	}
	add(1)
	if recent, err := s.Recent(ctx, "later", "", 1000, 10, 10); err != nil || len(recent) != n {
		t.Errorf("%d recent rows, %v", len(recent), err)
	}
	// A row whose key is taken is given up, and takes none of its group with it.
	taken := add(1)
	if err := s.RecordLater(ctx, taken); err != nil {
		t.Fatal(err)
	}
	add(1)
	if err := s.Flush(ctx); err != nil {
		t.Fatal(err)
	}
	if rows, err := s.Executions(ctx, "later", store.ExecutionFilter{}, store.Cursor{}, 1000); err != nil || len(rows) != n {
		t.Errorf("%d rows listed, want %d, %v", len(rows), n, err)
	}
	if _, events := s.recorded(t, "later"); len(events) != n {
		t.Errorf("%d events, want %d", len(events), n)
	}
}
