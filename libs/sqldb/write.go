package sqldb

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/windlass-dev/windlass/libs/backoff"
)

// writeAttempts is how often a transaction runs if Postgres rolls it back because of others.
const writeAttempts = 5

// Write runs f in a transaction and commits it. An error or panic of f rolls everything back. On SQLite writers queue in order of arrival,
// so f must be short and do no I/O of its own, see WriteAlone. It must not call Write, Read or Reader: builds with the race detector panic
// then.
//
// f may run again, so each run must reset its results. On SQLite writers that wait share a commit; if one of them fails, the others are
// rolled back, and each runs again in a transaction of its own. On Postgres f runs up to five times, after a serialization failure or
// deadlock, and after a violation of a unique key: f may have looked for the row before another transaction inserted it, and finds it now.
//
// Errors are translated; f's own error stays in the chain. If the commit fails because the connection broke (ErrUnavailable), its outcome
// is unknown.
func (db *DB) Write(ctx context.Context, f func(Tx) error) error { return db.writeWith(ctx, f, true) }

// WriteAlone is Write for a transaction that takes long, because it is large or calls a server: others do not wait for its end to commit.
// On SQLite those after it still wait for the writer.
func (db *DB) WriteAlone(ctx context.Context, f func(Tx) error) error {
	return db.writeWith(ctx, f, false)
}

// writeWith is Write; with joins, writers on SQLite share commits.
func (db *DB) writeWith(ctx context.Context, f func(Tx) error, joins bool) error {
	refuseNested("Write")
	if db.dialect == SQLite {
		if err := db.writeSQLite(ctx, f, joins); err != nil {
			return err
		}
		return db.flusher.note(ctx, db.cfg.FlushOn) // after the writer's slot is free: others commit meanwhile, and share the flush
	}
	pauses := backoff.Policy{First: 5 * time.Millisecond, Max: 40 * time.Millisecond, Jitter: 1}.Start()
	for attempt := 1; ; attempt++ {
		err := db.writeOnce(ctx, f)
		pg, ok := errors.AsType[*pgconn.PgError](err)
		if err == nil || !ok || !retryable(pg.Code) && !IsUnique(err) || attempt == writeAttempts {
			err = translate(err)
			db.full.Store(errors.Is(err, ErrDiskFull))
			return err
		}
		db.log.DebugContext(ctx, "transaction retried", "schema", db.schema, "attempt", attempt, "code", pg.Code)
		if IsUnique(err) {
			continue // the other transaction has been committed
		}
		if ended := pauses.Wait(ctx); ended != nil {
			return fmt.Errorf("%w: %w", ended, translate(err))
		}
	}
}

// unwatched returns a context that is never cancelled. For a context that can end, database/sql and the driver start goroutines for each
// statement, which costs more than a SQLite statement. Statements are short, so it is enough to check the caller's context before a
// transaction and before its commit.
func unwatched(ctx context.Context) context.Context { return context.WithoutCancel(ctx) }

// commitTimeout bounds a commit, which the end of the caller's context does not interrupt.
const commitTimeout = 15 * time.Second

// writeOnce runs a transaction. Until the commit begins it ends with ctx. A commit runs to its end, so that the caller learns its outcome
// and can act on it even if no caller waits for the answer any more.
func (db *DB) writeOnce(ctx context.Context, f func(Tx) error) error {
	life, end := context.WithCancel(context.WithoutCancel(ctx))
	defer end()
	unbind := context.AfterFunc(ctx, end)
	defer unbind()
	var patience *time.Timer
	defer func() {
		if patience != nil {
			patience.Stop()
		}
	}()
	err := db.transact(life, func(tx Tx) error {
		if err := f(tx); err != nil {
			return err
		}
		if !unbind() {
			return ctx.Err()
		}
		patience = time.AfterFunc(commitTimeout, end)
		return nil
	})
	if err != nil && ctx.Err() != nil && errors.Is(err, context.Canceled) {
		return fmt.Errorf("%w: %w", ctx.Err(), err) // it may be a deadline
	}
	return err
}

func (db *DB) transact(ctx context.Context, f func(Tx) error) error {
	end := nested("Write")
	defer end()
	tx, err := db.write.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	committed := false
	defer func() { // also after a panic, which continues to the caller
		if !committed {
			if err := tx.Rollback(); err != nil && !isDone(err) {
				db.log.WarnContext(ctx, "rollback failed", "schema", db.schema, "error", err)
			}
		}
	}()
	if err := f(tx); err != nil {
		return err
	}
	committed = true
	err = tx.Commit()
	if isDone(err) && ctx.Err() != nil { // database/sql has rolled it back
		err = ctx.Err()
	}
	if err != nil {
		return fmt.Errorf("commit: %w", err)
	}
	return nil
}
