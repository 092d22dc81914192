package sqldb

import (
	"context"
	"fmt"
	"os"
	"sync"
)

// WriteDurable is Write for data that must survive a power failure: it returns when the transaction is on disk. On SQLite other
// transactions may write meanwhile, and concurrent callers share a flush. PostgreSQL flushes each commit by default. If the flush fails the
// transaction is committed but may be lost.
func (db *DB) WriteDurable(ctx context.Context, f func(Tx) error) error {
	if err := db.Write(ctx, f); err != nil || db.dialect != SQLite {
		return err
	}
	if err := db.flusher.flush(); err != nil {
		return fmt.Errorf("flush to disk: %w", translate(err))
	}
	return nil
}

// flusher syncs SQLite's write-ahead log to disk. With synchronous=NORMAL SQLite itself syncs only before a checkpoint, not at each commit.
// SQLite does not lock the log file, so it may be opened and closed here.
type flusher struct {
	path string
	sync func(*os.File) error

	one  chan struct{} // full while a flush runs
	mu   sync.Mutex
	next *flushing // starts when the running flush has ended
}

// flushing is one flush that several callers wait for.
type flushing struct {
	done chan struct{}
	err  error
}

func newFlusher(path string, sync func(*os.File) error) *flusher {
	return &flusher{path: path, sync: sync, one: make(chan struct{}, 1)}
}

// flush returns when a flush that began after the call has ended.
func (f *flusher) flush() error {
	f.mu.Lock()
	mine := f.next
	if mine != nil {
		f.mu.Unlock()
		<-mine.done
		return mine.err
	}
	mine = &flushing{done: make(chan struct{})}
	f.next = mine
	f.mu.Unlock()
	f.one <- struct{}{}
	defer func() { <-f.one }()
	f.mu.Lock()
	f.next = nil // later callers have written after this flush began
	f.mu.Unlock()
	mine.err = f.run()
	close(mine.done)
	return mine.err
}

func (f *flusher) run() error {
	log, err := os.OpenFile(f.path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }() // nothing was written through it
	return f.sync(log)
}
