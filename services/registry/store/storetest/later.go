package storetest

import (
	"errors"
	"fmt"
	"sync"
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

// late forgets turns and sessions in another replica while the rows of their calls are recorded: none is left with what is erased, none is
// missing, and no event is left.
func (s suite) late(t *testing.T) {
	const turns = 40
	ctx := t.Context()
	var all sync.WaitGroup
	for i := range turns {
		turn, session := fmt.Sprintf("trn_late_%d", i), fmt.Sprintf("ses_late_%d", i)
		all.Go(func() {
			for n := range 5 {
				e := execution("buried", fmt.Sprintf("late-%d-%d", i, n))
				e.State, e.Effect, e.CreateTime, e.EndTime, e.TurnID, e.SessionID = store.Done, store.Read, begin, begin, turn, session
				e.Result, e.Arguments = []byte("secret"), "secret"
				if n == 0 { // a call outside of turns
					e.TurnID = ""
				}
				if err := s.RecordLater(ctx, e); err != nil {
					t.Error(err)
				}
			}
		})
		all.Go(func() {
			if _, err := s.other.Forget(ctx, "buried", []string{turn, session}); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	rows, err := s.Executions(ctx, "buried", store.ExecutionFilter{}, store.Cursor{}, 1000)
	if err != nil || len(rows) != turns*5 {
		t.Errorf("%d rows, %v", len(rows), err)
	}
	for _, e := range rows {
		if got := s.row(t, e); got.TurnID != "" || got.SessionID != "" || got.CallID != "" || got.ArgumentsHash != "" || len(got.Result) > 0 {
			t.Errorf("left of what is forgotten: %+v", got)
		}
	}
	if _, events := s.recorded(t, "buried"); len(events) > 0 {
		t.Errorf("%d events are left", len(events))
	}
}

// opensLate: a call that is under way when its turn or session is erased, in another replica, gets no row.
func (s suite) opensLate(t *testing.T) {
	ctx := t.Context()
	if _, err := s.other.Forget(ctx, "erased", []string{"trn_e", "ses_e"}); err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct {
		name, turn, session string
		want                error
	}{
		{"of the turn", "trn_e", "ses_e", store.ErrForgotten},
		{"of the session", "", "ses_e", store.ErrForgotten},
		{"of another turn", "trn_other", "ses_other", nil},
		{"of none", "", "", nil},
	} {
		e := execution("erased", "late "+row.name)
		e.Effect, e.TurnID, e.SessionID = store.Read, row.turn, row.session
		if err := s.OpenLate(ctx, e); !errors.Is(err, row.want) || row.want == nil && err != nil {
			t.Errorf("%s: got %v, want %v", row.name, err, row.want)
		}
	}
	if rows, err := s.Executions(ctx, "erased", store.ExecutionFilter{}, store.Cursor{}, 10); err != nil || len(rows) != 2 {
		t.Errorf("%d rows, %v; want 2", len(rows), err)
	}
}
