package cache

import (
	"context"
	"errors"

	"github.com/windlass-dev/windlass/libs/batch"
)

// putsAtOnce is how many results are sent to the bucket together; four times as many may wait.
const putsAtOnce = 64

// errBehind means that the bucket takes results more slowly than calls make them.
var errBehind = errors.New("too many results wait to be written")

// put is a result on its way to the bucket.
type put struct {
	fill  *Fill
	value []byte
	wait  func(context.Context) (uint64, error) // until the bucket has it, once it is sent
}

// newPuts returns the writer of results whose callers do not wait for it.
func newPuts(c *Cache) *batch.Writer[put] {
	return batch.New(batch.Config[put]{
		Items: putsAtOnce,
		Write: func(ctx context.Context, all []put) error {
			c.write(ctx, all)
			return nil // failures are counted, and a result that is late is worth little
		},
		Failed: func(context.Context, put, error) {},
	})
}

// Wait waits until the results of calls that have ended are in the bucket, or given up. It fails only if ctx ends.
func (c *Cache) Wait(ctx context.Context) error { return c.puts.Flush(ctx) }

// later hands a result to the writer; it is dropped if too many wait.
func (p put) later(ctx context.Context) {
	if c := p.fill.cache; !c.puts.TryAdd(ctx, p) {
		c.failed(ctx, "put", errBehind)
	}
}

// write writes results to the bucket, unless something changed since their calls began.
func (c *Cache) write(ctx context.Context, all []put) {
	ctx, cancel := context.WithTimeout(ctx, sharedTimeout)
	defer cancel()
	var sent []put
	for _, p := range all {
		if p.fill.current() {
			p.wait = p.fill.bucket.Start(p.fill.key.subject(), p.value)
			sent = append(sent, p)
		}
	}
	for _, p := range sent {
		if _, err := p.wait(ctx); err != nil {
			c.failed(ctx, "put", err)
			continue
		}
		c.count(ctx, "store")
		if f := p.fill; !f.current() { // Clear may have removed this tool's results before this one was there
			if err := f.bucket.Delete(ctx, f.key.subject()); err != nil {
				c.failed(ctx, "clear", err)
			}
		}
	}
}

func (f *Fill) current() bool {
	f.cache.mu.Lock()
	defer f.cache.mu.Unlock()
	return f.changes == f.cache.changesOf(f.key)
}
