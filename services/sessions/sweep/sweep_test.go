package sweep_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/windlass-dev/windlass/libs/testmain"
	"github.com/windlass-dev/windlass/services/sessions/sweep"
)

func TestMain(m *testing.M) { testmain.Verify(m) }

func TestBackoff(t *testing.T) {
	for attempts, want := range map[int64]time.Duration{
		0: time.Second, 1: time.Second, 2: 2 * time.Second, 5: 16 * time.Second,
		10: 5 * time.Minute, 1 << 40: 5 * time.Minute,
	} {
		for range 50 {
			if got := sweep.Backoff(attempts); got < want*4/5 || got > want*6/5+1 {
				t.Fatalf("after %d attempts: %s, want about %s", attempts, got, want)
			}
		}
	}
}

// table is rows that are due until they were done.
type table struct {
	mu   sync.Mutex
	due  []int
	done []int
}

func (t *table) list(_ context.Context, limit int) ([]int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := min(limit, len(t.due))
	return append([]int(nil), t.due[:n]...), nil
}

func (t *table) remove(row int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for i, v := range t.due {
		if v == row {
			t.due = append(t.due[:i:i], t.due[i+1:]...)
			t.done = append(t.done, row)
			return
		}
	}
}

func TestDue(t *testing.T) {
	away := errors.New("the database is away")
	for _, tt := range []struct {
		name       string
		fail       error
		done, left int
	}{
		{"all rows are done, batch by batch", nil, 200, 0},
		{"an error that is not a row's ends it", away, 32, 168},
		{"so does that nothing can be done", sweep.ErrStop, 32, 168},
	} {
		rows := &table{}
		for i := range 200 {
			rows.due = append(rows.due, i)
		}
		err := sweep.Due(t.Context(), rows.list, func(_ context.Context, row int) error {
			rows.remove(row)
			if row == 3 {
				return tt.fail
			}
			return nil
		})
		if errors.Is(tt.fail, away) != errors.Is(err, away) || len(rows.done) != tt.done || len(rows.due) != tt.left {
			t.Errorf("%s: %v, %d rows done, %d left", tt.name, err, len(rows.done), len(rows.due))
		}
	}
}

// TestARowThatStaysDueHoldsUpNoSweep: list is asked a bounded number of times.
func TestARowThatStaysDueHoldsUpNoSweep(t *testing.T) {
	rows := &table{due: make([]int, 64)}
	if err := sweep.Due(t.Context(), rows.list, func(context.Context, int) error { return nil }); err != nil {
		t.Error(err)
	}
}
