package sqldb

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
)

// Fresh reads values that many calls need and few change, for example a tool by its name. A value has every change that was committed, in
// any process, before Get was called: age alone makes no value usable. It is safe for concurrent use.
//
// On SQLite the file belongs to this process, so that no change can escape it: values are kept until a transaction changes one of their
// tables. On PostgreSQL other replicas write too. There, concurrent callers share a read that began after they asked.
type Fresh[K comparable, V any] struct {
	read  func(ctx context.Context, key K) (V, error)
	from  []*atomic.Uint64
	kept  *lru.Cache[K, freshValue[V]] // nil on PostgreSQL
	mu    sync.Mutex
	reads map[K]*freshReads[V] // of the keys that are being read
}

// freshValue is a value, and the number of changes of its tables before it was read.
type freshValue[V any] struct {
	value   V
	changes uint64
}

// freshReads are the reads of a key: one that runs, and one that begins when it ends.
type freshReads[V any] struct{ next *freshRead[V] }

// freshRead is a read that callers wait for.
type freshRead[V any] struct {
	ctx   context.Context // for values; the read does not end with it
	done  chan struct{}
	value V
	err   error
}

// freshTimeout bounds a read that callers share.
const freshTimeout = 15 * time.Second

// NewFresh returns a reader of values. read gets one from the given tables and no others; what it returns is shared by callers and must not
// be changed. size is the number of values kept on SQLite.
func NewFresh[K comparable, V any](db *DB, size int, tables []string, read func(ctx context.Context, key K) (V, error)) *Fresh[K, V] {
	f := &Fresh[K, V]{read: read, reads: map[K]*freshReads[V]{}}
	if db.dialect != SQLite {
		return f
	}
	kept, err := lru.New[K, freshValue[V]](size)
	if err != nil {
		panic(fmt.Sprintf("sqldb: %d fresh values: %v", size, err)) // only for a size below 1
	}
	f.kept = kept
	for _, table := range tables {
		f.from = append(f.from, db.changes.of(table))
	}
	return f
}

// Get returns the value of a key. Errors are those of the read, which are not kept, or ctx's own.
func (f *Fresh[K, V]) Get(ctx context.Context, key K) (V, error) {
	if f.kept == nil {
		return f.shared(ctx, key)
	}
	changes := uint64(0)
	for _, table := range f.from {
		changes += table.Load()
	}
	if kept, ok := f.kept.Get(key); ok && kept.changes == changes {
		return kept.value, nil
	}
	value, err := f.shared(ctx, key)
	if err == nil {
		f.kept.Add(key, freshValue[V]{value, changes})
	}
	return value, err
}

// shared reads the value. If it is being read already, the caller waits for the next read, which may have other callers.
func (f *Fresh[K, V]) shared(ctx context.Context, key K) (V, error) {
	f.mu.Lock()
	running, busy := f.reads[key]
	if !busy {
		running = &freshReads[V]{}
		f.reads[key] = running
		f.mu.Unlock()
		defer f.ended(key, running)
		return f.read(ctx, key)
	}
	mine := running.next
	if mine == nil {
		mine = &freshRead[V]{ctx: context.WithoutCancel(ctx), done: make(chan struct{})}
		running.next = mine
	}
	f.mu.Unlock()
	select {
	case <-mine.done:
		return mine.value, mine.err
	case <-ctx.Done():
		var zero V
		return zero, ctx.Err()
	}
}

// ended starts the next read of a key, if callers wait for it.
func (f *Fresh[K, V]) ended(key K, running *freshReads[V]) {
	f.mu.Lock()
	next := running.next
	running.next = nil
	if next == nil {
		delete(f.reads, key)
	}
	f.mu.Unlock()
	if next == nil {
		return
	}
	go func() {
		defer f.ended(key, running)
		defer close(next.done)
		defer func() {
			if p := recover(); p != nil {
				next.err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
			}
		}()
		ctx, cancel := context.WithTimeout(next.ctx, freshTimeout)
		defer cancel()
		next.value, next.err = f.read(ctx, key)
	}()
}
