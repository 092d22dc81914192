package sqldb

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
)

// maxGroup bounds the transactions that share a commit.
const maxGroup = 16

// errAlone means that a transaction was rolled back with its group, and runs again in one of its own.
var errAlone = errors.New("the group was rolled back")

// group is a SQLite transaction in which those of several callers run, one after the other. Its commit is theirs.
type group struct {
	tx      *sql.Tx
	ran     []string // the statements
	members int
	done    chan struct{}
	err     error // read it when done is closed
}

// writerQueue passes the only writing connection of a SQLite file on, in order of arrival, which a database/sql pool does not guarantee.
type writerQueue struct {
	mu      sync.Mutex
	taken   bool
	waiting []*queued
}

// queued waits for the connection. Its channel gets the group that it continues, nil for none.
type queued struct {
	joins bool
	slot  chan *group
}

// enter waits for the connection, and must be followed by leave. With joins it may come with a group, which the caller must end or pass on.
func (q *writerQueue) enter(ctx context.Context, joins bool) (*group, error) {
	q.mu.Lock()
	if !q.taken {
		q.taken = true
		q.mu.Unlock()
		return nil, nil
	}
	own := &queued{joins, make(chan *group, 1)}
	q.waiting = append(q.waiting, own)
	q.mu.Unlock()
	select {
	case g := <-own.slot:
		return g, nil
	case <-ctx.Done():
	}
	q.mu.Lock()
	i := slices.Index(q.waiting, own)
	if i >= 0 {
		q.waiting = slices.Delete(q.waiting, i, i+1)
	}
	q.mu.Unlock()
	if i >= 0 {
		return nil, fmt.Errorf("wait for the writer: %w", ctx.Err())
	}
	return <-own.slot, nil // it was passed on just now
}

// leave passes the connection on.
func (q *writerQueue) leave() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.taken = len(q.waiting) > 0
	if q.taken {
		q.nextLocked(nil)
	}
}

// pass passes the connection on with a group, if a caller that joins it is next.
func (q *writerQueue) pass(g *group) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.waiting) == 0 || !q.waiting[0].joins {
		return false
	}
	q.nextLocked(g)
	return true
}

func (q *writerQueue) nextLocked(g *group) {
	q.waiting[0].slot <- g
	q.waiting = slices.Delete(q.waiting, 0, 1)
}

// writeSQLite runs f in a transaction of its own, or with joins in a group.
func (db *DB) writeSQLite(ctx context.Context, f func(Tx) error, joins bool) error {
	err := db.writeGroup(ctx, f, joins)
	if err == errAlone { //nolint:errorlint // it is never wrapped
		err = db.writeGroup(ctx, f, false)
	}
	return err
}

// writeGroup runs f, and those of callers that wait for the connection then, and commits. Each of them would write the same pages to the
// log, and lock and unlock the file.
func (db *DB) writeGroup(ctx context.Context, f func(Tx) error, joins bool) error {
	g, err := db.queue.enter(ctx, joins)
	if err != nil {
		return err
	}
	left := false
	defer func() { // also after a panic, which continues to the caller
		if !left {
			db.end(ctx, g, errAlone)
		}
	}()
	if g != nil && ctx.Err() != nil { // the caller has given up, and the others have not
		left = true
		db.end(ctx, g, nil)
		return fmt.Errorf("wait for the writer: %w", ctx.Err())
	}
	if g == nil {
		tx, err := db.write.BeginTx(unwatched(ctx), nil)
		if err != nil {
			return translate(fmt.Errorf("begin: %w", err))
		}
		g = &group{tx: tx, done: make(chan struct{})}
	}
	g.members++
	if err := db.member(ctx, g, f); err != nil {
		if g.members > 1 { // it may come from what the others have written
			return errAlone
		}
		return translate(err)
	}
	left = true
	if joins {
		runtime.Gosched() // callers that can run now may join
		if g.members < maxGroup && db.queue.pass(g) {
			<-g.done
			return g.err
		}
	}
	db.end(ctx, g, nil)
	return g.err
}

// member runs f in a group.
func (db *DB) member(ctx context.Context, g *group, f func(Tx) error) error {
	end := nested("Write")
	defer end()
	if err := f(preparedTx{g.tx, db.writer, &g.ran}); err != nil {
		return err
	}
	return ctx.Err() // the caller has given up
}

// end commits a group, or rolls it back if err is not nil, and passes the connection on.
func (db *DB) end(ctx context.Context, g *group, err error) {
	defer db.queue.leave()
	if g == nil {
		return
	}
	if err == nil {
		if g.err = g.tx.Commit(); g.err != nil {
			g.err = translate(fmt.Errorf("commit: %w", g.err))
		}
		db.flusher.committed.Add(1) // before any member goes on
	} else {
		g.err = err
		if err := g.tx.Rollback(); err != nil && !isDone(err) {
			db.log.WarnContext(ctx, "rollback failed", "schema", db.schema, "error", err)
		}
	}
	db.changes.add(g.ran) // also after an error: the commit may have been made
	db.writer.prepareWanted(unwatched(ctx))
	close(g.done)
}
