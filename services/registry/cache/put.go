package cache

import (
	"context"
	"sync"
)

// puts counts the results on their way to the bucket.
type puts struct {
	mu   sync.Mutex
	n    int
	idle chan struct{} // closed when none is left
}

func (p *puts) begin() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.n == 0 {
		p.idle = make(chan struct{})
	}
	p.n++
}

func (p *puts) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.n--; p.n == 0 {
		close(p.idle)
	}
}

// Wait waits until no result is on its way to the bucket.
func (c *Cache) Wait() {
	c.puts.mu.Lock()
	n, idle := c.puts.n, c.puts.idle
	c.puts.mu.Unlock()
	if n > 0 {
		<-idle
	}
}

// put writes a result to the bucket, unless something changed since the call began.
func (f *Fill) put(ctx context.Context, value []byte) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), sharedTimeout)
	defer cancel()
	if !f.current() {
		return
	}
	if _, err := f.bucket.Put(ctx, f.key.subject(), value); err != nil {
		f.cache.failed(ctx, "put", err)
		return
	}
	f.cache.count(ctx, "store")
	if !f.current() { // Clear may have removed this tool's results before this one was there
		if err := f.bucket.Delete(ctx, f.key.subject()); err != nil {
			f.cache.failed(ctx, "clear", err)
		}
	}
}

func (f *Fill) current() bool {
	f.cache.mu.Lock()
	defer f.cache.mu.Unlock()
	return f.changes == f.cache.changesOf(f.key)
}
