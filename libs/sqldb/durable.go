package sqldb

import (
	"context"
	"fmt"
	"os"
	"sync"
)

// WriteDurable is Write for what must not be lost when the power fails: it returns when the transaction is on disk. On SQLite others
// may write meanwhile, and transactions that wait at the same time share one flush. PostgreSQL flushes each commit unless it is told not to.
// After an error of the flush the transaction stands, but may be lost.
func (db *DB) WriteDurable(ctx context.Context, f func(Tx) error) error {
	if err := db.Write(ctx, f); err != nil || db.dialect != SQLite {
		return err
	}
	if err := db.flusher.flush(); err != nil {
		return fmt.Errorf("flush to disk: %w", translate(err))
	}
	return nil
}

// flusher has SQLite's write-ahead log written to disk. With synchronous=NORMAL SQLite does that itself before it moves the log's pages to the database
// file, not at each commit. The log is not a file that SQLite locks, so it may be opened and closed.
type flusher struct {
	path string
	sync func(*os.File) error

	one  chan struct{} // full while a flush runs
	mu   sync.Mutex
	next *flushing // begins when the one that runs has ended
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
	f.next = nil // who comes from here on has written after this flush began
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
