// Package batch writes items in groups, a little later than they are given: many small transactions become few.
package batch

import (
	"context"
	"sync"
	"time"

	"github.com/windlass-dev/windlass/libs/backoff"
)

// Config configures a Writer. Write and Failed are required.
type Config[T any] struct {
	// Write writes items, all or none.
	Write func(ctx context.Context, items []T) error
	// Failed is called with an item that was given up.
	Failed func(ctx context.Context, item T, err error)
	// Permanent reports whether repeating a write that failed is pointless; nil = it never is.
	Permanent func(err error) bool
	// Delay is how long the first item of a group waits for others; 0 = 10 ms.
	Delay time.Duration
	// Items is the largest number of items in a group; 0 = 256. Four groups may wait; then Add blocks.
	Items int
	// Patience is how long a write that fails is repeated; 0 = 15 s.
	Patience time.Duration
}

// Writer writes items in their order. It is safe for concurrent use, and has a goroutine only while items wait.
type Writer[T any] struct {
	cfg    Config[T]
	places chan struct{} // one for each item that waits or is being written

	mu      sync.Mutex
	waiting []T
	added   uint64
	written uint64
	changed chan struct{} // closed and replaced when written grows
	hurry   chan struct{} // closed when a caller waits for the items; nil when no goroutine runs
	hurried bool
}

// New returns a Writer.
func New[T any](cfg Config[T]) *Writer[T] {
	if cfg.Delay <= 0 {
		cfg.Delay = 10 * time.Millisecond
	}
	if cfg.Items <= 0 {
		cfg.Items = 256
	}
	if cfg.Patience <= 0 {
		cfg.Patience = 15 * time.Second
	}
	return &Writer[T]{cfg: cfg, places: make(chan struct{}, 4*cfg.Items), changed: make(chan struct{})}
}

// Add gives an item to the writer. It blocks while too many wait, and returns an error only if ctx ends meanwhile.
func (w *Writer[T]) Add(ctx context.Context, item T) error {
	select {
	case w.places <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	w.take(ctx, item)
	return nil
}

// TryAdd is Add for an item that is not worth waiting for: false if too many wait.
func (w *Writer[T]) TryAdd(ctx context.Context, item T) bool {
	select {
	case w.places <- struct{}{}:
		w.take(ctx, item)
		return true
	default:
		return false
	}
}

// take adds an item that has a place.
func (w *Writer[T]) take(ctx context.Context, item T) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.waiting = append(w.waiting, item)
	w.added++
	if w.hurry == nil {
		w.hurry, w.hurried = make(chan struct{}), false
		go w.run(context.WithoutCancel(ctx), w.hurry)
	}
	if len(w.waiting) >= w.cfg.Items {
		w.hurryLocked()
	}
}

// Flush waits until all items that were added before are written or given up, or until ctx ends.
func (w *Writer[T]) Flush(ctx context.Context) error {
	w.mu.Lock()
	upTo := w.added
	for w.written < upTo {
		w.hurryLocked()
		changed := w.changed
		w.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
		w.mu.Lock()
	}
	w.mu.Unlock()
	return nil
}

// hurryLocked ends the delay; w.mu is held.
func (w *Writer[T]) hurryLocked() {
	if w.hurry != nil && !w.hurried {
		w.hurried = true
		close(w.hurry)
	}
}

// run writes until nothing waits.
func (w *Writer[T]) run(ctx context.Context, hurry chan struct{}) {
	delay := time.NewTimer(w.cfg.Delay)
	defer delay.Stop()
	for {
		select {
		case <-delay.C:
		case <-hurry:
		}
		w.mu.Lock()
		items := w.waiting[:min(len(w.waiting), w.cfg.Items)]
		w.waiting = w.waiting[len(items):]
		w.mu.Unlock()
		w.write(ctx, items)
		w.mu.Lock()
		w.written += uint64(len(items))
		close(w.changed)
		w.changed = make(chan struct{})
		for range items {
			<-w.places
		}
		if len(w.waiting) == 0 {
			w.waiting, w.hurry = nil, nil
			w.mu.Unlock()
			return
		}
		hurry, w.hurried = make(chan struct{}), false
		w.hurry = hurry
		if len(w.waiting) >= w.cfg.Items {
			w.hurryLocked()
		}
		w.mu.Unlock()
		delay.Reset(w.cfg.Delay)
	}
}

// write writes a group, and item by item if that fails, so that one bad item does not take others with it.
func (w *Writer[T]) write(ctx context.Context, items []T) {
	err := w.cfg.Write(ctx, items)
	if err == nil {
		return
	}
	until, stop := context.WithTimeout(ctx, w.cfg.Patience)
	defer stop()
	for i := range items {
		pauses := backoff.Policy{First: 10 * time.Millisecond, Max: time.Second}.Start()
		for {
			if err = w.cfg.Write(ctx, items[i:i+1]); err == nil {
				break
			}
			if w.cfg.Permanent != nil && w.cfg.Permanent(err) || pauses.Wait(until) != nil {
				w.cfg.Failed(ctx, items[i], err)
				break
			}
		}
	}
}
