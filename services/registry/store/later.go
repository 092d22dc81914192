package store

import (
	"context"
	"fmt"

	"github.com/windlass-dev/windlass/libs/batch"
	"github.com/windlass-dev/windlass/libs/sqldb"
	"github.com/windlass-dev/windlass/libs/tombstone"
)

// ledger returns the ledger in the database.
func (q eventDB) ledger() sqlLedger {
	l := sqlLedger{db: q, forgotten: tombstone.Of(q.DB, "executions_forgotten")}
	l.later = batch.New(batch.Config[Execution]{
		Write:     func(ctx context.Context, all []Execution) error { return l.recordLate(sqldb.Untracked(ctx), all) },
		Permanent: sqldb.IsUnique,
		Failed: func(ctx context.Context, e Execution, err error) {
			if sqldb.IsUnique(err) { // its caller said that the key was new
				q.Log().WarnContext(ctx, "execution was not recorded: its key is that of another one", "execution_id", e.ID, "tool", e.Tool)
				return
			}
			q.Log().ErrorContext(ctx, "execution could not be recorded", "execution_id", e.ID, "tool", e.Tool, "error", err)
		},
	})
	return l
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
	if err := q.later.Add(ctx, e); err != nil {
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
