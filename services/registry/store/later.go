package store

import (
	"context"
	"fmt"
	"sync"

	"github.com/windlass-dev/windlass/libs/batch"
	"github.com/windlass-dev/windlass/libs/sqldb"
	"github.com/windlass-dev/windlass/libs/tombstone"
)

// ledger returns the ledger in the database.
func (q eventDB) ledger() sqlLedger {
	l := sqlLedger{db: q, forgotten: tombstone.Of(q.DB, "executions_forgotten"), waiting: &waiting{of: map[tombstone.ID]int{}}}
	l.later = batch.New(batch.Config[Execution]{
		Write: func(ctx context.Context, all []Execution) error {
			err := l.recordLate(sqldb.Untracked(ctx), all)
			if err == nil {
				l.waiting.add(-1, all...)
			}
			return err
		},
		Permanent: sqldb.IsUnique,
		Failed: func(ctx context.Context, e Execution, err error) {
			l.waiting.add(-1, e)
			if sqldb.IsUnique(err) { // its caller said that the key was new
				q.Log().WarnContext(ctx, "execution was not recorded: its key is that of another one", "execution_id", e.ID, "tool", e.Tool)
				return
			}
			q.Log().ErrorContext(ctx, "execution could not be recorded", "execution_id", e.ID, "tool", e.Tool, "error", err)
		},
	})
	return l
}

// waiting counts the rows that wait to be recorded, by their turns or sessions.
type waiting struct {
	mu sync.Mutex
	of map[tombstone.ID]int
}

func (w *waiting) add(n int, all ...Execution) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, e := range all {
		of := e.erasedWith()
		if w.of[of] += n; w.of[of] == 0 {
			delete(w.of, of)
		}
	}
}

// has reports whether rows of a turn or session wait.
func (w *waiting) has(of tombstone.ID) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.of[of] > 0
}

// recordLate is recordAll for calls that have ended before: those of turns and sessions that were erased meanwhile are recorded as Forget
// leaves them.
func (q sqlLedger) recordLate(ctx context.Context, all []Execution) error {
	var ids []tombstone.ID
	for _, e := range all {
		if of := e.erasedWith(); of.ID != "" {
			ids = append(ids, of)
		}
	}
	return q.record(ctx, all, func(tx sqldb.Tx) (func(Execution) bool, error) {
		buried, err := q.forgotten.Buried(ctx, tx, ids)
		return func(e Execution) bool { return buried[e.erasedWith()] }, err
	})
}

func (q sqlLedger) RecordLater(ctx context.Context, e Execution) error {
	q.waiting.add(1, e)
	if err := q.later.Add(ctx, e); err != nil {
		q.waiting.add(-1, e)
		return fmt.Errorf("record execution: %w", err)
	}
	return nil
}

func (q sqlLedger) Flush(ctx context.Context) error {
	if err := q.later.Flush(ctx); err != nil {
		return fmt.Errorf("wait for executions to be recorded: %w", err)
	}
	return nil
}
