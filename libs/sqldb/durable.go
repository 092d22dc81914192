package sqldb

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"

	"github.com/windlass-dev/windlass/libs/dirid"
)

// What is on disk before a caller continues, for Config.FlushOn. A killed process loses nothing with any of them; they differ in what a
// power failure may take.
const (
	// FlushPromises flushes what a call has committed before its caller is answered, see Track, and what Flush is called for.
	FlushPromises = "promises"
	// FlushCommits flushes each commit.
	FlushCommits = "commits"
	// FlushCalls flushes WriteDurable only.
	FlushCalls = "calls"
)

// WriteDurable is Write for data that must survive a power failure: it returns when the transaction is on disk. On SQLite other
// transactions may write meanwhile, and concurrent callers share a flush. PostgreSQL flushes each commit. If the flush fails the
// transaction is committed but may be lost.
func (db *DB) WriteDurable(ctx context.Context, f func(Tx) error) error {
	if err := db.Write(ctx, f); err != nil {
		return err
	}
	return db.flusher.flushAll()
}

// Flush returns when everything that was committed before is on disk. It does nothing with FlushCalls, and on PostgreSQL, which flushes
// each commit.
func (db *DB) Flush() error {
	if db.cfg.FlushOn == FlushCalls {
		return nil
	}
	return db.flusher.flushAll()
}

// written are the commits of a call: the newest of each database.
type written struct {
	mu  sync.Mutex
	all map[*flusher]uint64
}

// writtenKey is the key of a context's *written.
type writtenKey struct{}

// Track returns a context that notes the transactions committed with it, and a function that returns when they are on disk. Servers use it
// for whatever they confirm to a caller, so that no single method has to.
func Track(ctx context.Context) (tracked context.Context, flush func() error) {
	w := &written{}
	return context.WithValue(ctx, writtenKey{}, w), w.flush
}

// Untracked returns a context without that of Track, for work that no caller waits for.
func Untracked(ctx context.Context) context.Context {
	return context.WithValue(ctx, writtenKey{}, (*written)(nil))
}

// note is called after each commit, which has been counted; flushOn is that of the configuration.
func (f *flusher) note(ctx context.Context, flushOn string) error {
	n := f.committed.Load()
	switch flushOn {
	case FlushCommits:
		return f.flush(n)
	case FlushCalls:
		return nil
	}
	if w, _ := ctx.Value(writtenKey{}).(*written); w != nil {
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.all == nil {
			w.all = map[*flusher]uint64{}
		}
		w.all[f] = max(n, w.all[f])
	}
	return nil
}

func (w *written) flush() error {
	w.mu.Lock()
	all := w.all
	w.all = nil
	w.mu.Unlock()
	for f, upTo := range all {
		if err := f.flush(upTo); err != nil {
			return err
		}
	}
	return nil
}

// flusher syncs SQLite's write-ahead log to disk. With synchronous=NORMAL SQLite itself syncs only before a checkpoint, not at each commit.
// SQLite does not lock the log file, so it may be opened and closed here.
type flusher struct {
	path string
	sync func(*os.File) error
	// committed counts the commits.
	committed atomic.Uint64

	one     chan struct{} // full while a flush runs
	mu      sync.Mutex
	next    *flushing // starts when the running flush has ended
	flushed uint64    // commits that are on disk
	named   bool      // the folder's entry of the log is on disk; belongs to the running flush
}

// flushing is one flush that several callers wait for.
type flushing struct {
	done chan struct{}
	err  error
}

func newFlusher(path string, sync func(*os.File) error) *flusher {
	return &flusher{path: path, sync: sync, one: make(chan struct{}, 1)}
}

// flushAll returns when all commits so far are on disk. It does nothing without a flusher, on PostgreSQL.
func (f *flusher) flushAll() error {
	if f == nil {
		return nil
	}
	return f.flush(f.committed.Load())
}

// flush returns when so many commits are on disk. A flush that began before the last of them does not count.
func (f *flusher) flush(upTo uint64) error {
	f.mu.Lock()
	if f.flushed >= upTo {
		f.mu.Unlock()
		return nil
	}
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
	covers := f.committed.Load()
	if mine.err = f.run(); mine.err == nil {
		f.mu.Lock()
		f.flushed = covers
		f.mu.Unlock()
	} else {
		mine.err = fmt.Errorf("flush to disk: %w", translate(mine.err))
	}
	close(mine.done)
	return mine.err
}

func (f *flusher) run() error {
	log, err := os.OpenFile(f.path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }() // nothing was written through it
	if err := f.sync(log); err != nil {
		return err
	}
	if !f.named {
		if err := dirid.Sync(filepath.Dir(f.path)); err != nil {
			return err
		}
		f.named = true
	}
	return nil
}
