package cache

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/windlass-dev/windlass/libs/backoff"
	"github.com/windlass-dev/windlass/libs/bus"
)

const (
	// changedSubject carries changes between replicas.
	changedSubject = "windlass.registry.cache.changed"
	// changedBacklog is how many changes may wait for a replica; with more, it drops what it has in memory.
	changedBacklog = 1024
	// retryPause is the first pause after a failure of the bus; it doubles up to retryMax.
	retryPause, retryMax = 100 * time.Millisecond, 5 * time.Second
	// retryEvery is how often a marker that could not be set is set again.
	retryEvery = time.Second
)

// change is a message to the other replicas.
type change struct {
	scope
	From string `json:"from"`
}

// tenantToken returns a tenant as a token of a key.
func tenantToken(tenant string) string {
	sum := sha256.Sum256([]byte(tenant))
	return hex.EncodeToString(sum[:8])
}

func (k Key) subject() string {
	return tenantToken(k.Tenant) + "." + k.Source + "." + k.Tool + "." + k.hash
}

// marker is the key of the source's marker. It has fewer tokens than those of results.
func (s scope) marker() string { return tenantToken(s.Tenant) + "." + s.Source }

// allMarkers matches the keys of all markers.
const allMarkers = "*.*"

// keys returns patterns of what Clear removes: results, and the markers of whole sources, so that a result which is written later is not
// used.
func (s scope) keys() []string {
	switch {
	case s.Source == "":
		return []string{tenantToken(s.Tenant) + ".>"}
	case s.Tool == "":
		return []string{s.marker(), s.marker() + ".>"}
	}
	return []string{s.marker() + "." + s.Tool + ".*"}
}

// Changed says that a call which may have changed something was sent to the source. No result from before is returned afterwards, in this
// replica at once and in the others as soon as the bus delivers.
func (c *Cache) Changed(ctx context.Context, tenant, source string) {
	s := scope{Tenant: tenant, Source: source}
	if err := c.mark(ctx, s); err != nil {
		c.failed(ctx, "change", err)
		c.mu.Lock()
		c.unshared[s] = struct{}{}
		c.mu.Unlock()
	}
	// After the marker: what was read from the bucket until now may be from before the change.
	c.drop(s)
	c.announce(ctx, s)
}

func (c *Cache) shared() *bus.Bucket {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.usable()
}

// mark sets the source's marker.
func (c *Cache) mark(ctx context.Context, s scope) error {
	bucket := c.shared()
	if bucket == nil {
		return bus.ErrUnavailable
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), sharedTimeout)
	defer cancel()
	_, err := bucket.Put(ctx, s.marker(), nil)
	return err
}

// drop makes what this replica has in memory invalid.
func (c *Cache) drop(s scope) {
	c.mu.Lock()
	c.changes[s]++
	c.mu.Unlock()
}

// announce tells the other replicas.
func (c *Cache) announce(ctx context.Context, s scope) {
	data, err := json.Marshal(change{scope: s, From: c.id})
	if err == nil {
		err = c.deps.Bus.Publish(changedSubject, data)
	}
	if err != nil {
		c.failed(ctx, "announce", err)
	}
}

// Clear removes the results of a tool, of a source if tool is empty, or of the tenant if source is empty too. A call of a single cleared
// tool that is under way at another replica may still leave its result. Errors: bus.ErrUnavailable.
func (c *Cache) Clear(ctx context.Context, tenant, source, tool string) error {
	s := scope{Tenant: tenant, Source: source, Tool: tool}
	bucket := c.shared()
	if bucket == nil {
		return bus.ErrUnavailable
	}
	c.drop(s)                           // so that no call under way here leaves its result
	if err := c.Wait(ctx); err != nil { // those that are being written are removed too
		return fmt.Errorf("clear cache: %w", err)
	}
	for _, pattern := range s.keys() {
		if err := bucket.Delete(ctx, pattern); err != nil {
			return fmt.Errorf("clear cache: %w", err)
		}
	}
	c.drop(s) // what was read from the bucket until now
	c.announce(ctx, s)
	c.count(ctx, "clear")
	return nil
}

// Stats describes the cache.
type Stats struct {
	// Available is false while the bus is away, and calls go through.
	Available bool
	// Results and Bytes are those in the bucket, of all tenants.
	Results, Bytes uint64
	// Failures counts failed operations of this process.
	Failures int64
}

// Stats reads the state of the cache.
func (c *Cache) Stats(ctx context.Context) Stats {
	out := Stats{Failures: c.failures.Load()}
	bucket := c.shared()
	if bucket == nil {
		return out
	}
	ctx, cancel := context.WithTimeout(ctx, sharedTimeout)
	defer cancel()
	values, bytes, err := bucket.Size(ctx)
	markers := uint64(0)
	if err == nil {
		markers, err = bucket.Count(ctx, allMarkers)
	}
	if err != nil {
		c.failed(ctx, "size", err)
		out.Failures = c.failures.Load()
		return out
	}
	out.Results, out.Bytes = values-min(markers, values), bytes
	out.Available = true
	return out
}

// Run makes the cache usable while the bus is there, until ctx ends, and then waits for the results on their way to the bucket.
func (c *Cache) Run(ctx context.Context) error {
	pauses := backoff.Policy{First: retryPause, Max: retryMax}.Start()
	for ctx.Err() == nil {
		err := c.listen(ctx)
		if err == nil || errors.Is(err, bus.ErrGap) || errors.Is(err, bus.ErrOverflow) {
			pauses = backoff.Policy{First: retryPause, Max: retryMax}.Start()
			continue
		}
		if ctx.Err() == nil {
			c.failed(ctx, "listen", err)
			_ = pauses.Wait(ctx) // only ctx ends it, and then the loop
		}
	}
	return c.Wait(context.WithoutCancel(ctx))
}

// listen lets the cache be used while changes of other replicas arrive.
func (c *Cache) listen(ctx context.Context) error {
	sub, err := c.deps.Bus.Subscribe(changedSubject, changedBacklog)
	if err != nil {
		return err
	}
	defer sub.Close()
	bucket, err := c.deps.Bus.Bucket(ctx, bus.BucketConfig{Name: bucketName, MaxAge: MaxTTL, MaxBytes: c.cfg.MaxBytes})
	if err != nil {
		return err
	}
	connection, connected := c.deps.Bus.Connection()
	if !connected {
		return bus.ErrUnavailable
	}
	if err := c.deps.Bus.Flush(ctx); err != nil {
		return err
	}
	if err := backoff.Sleep(ctx, c.deps.Bus.Spread()); err != nil {
		return nil // ctx ended, and so does Run
	}
	c.use(bucket, connection)
	defer c.use(nil, 0)
	retry := time.NewTicker(retryEvery)
	defer retry.Stop()
	for {
		c.share(ctx)
		select {
		case m, ok := <-sub.C():
			if !ok {
				return sub.Err()
			}
			c.received(m)
		case <-retry.C:
		case <-ctx.Done():
			return nil
		}
	}
}

// use sets the bucket; nil while changes may be missed. Whatever is in memory is invalid then.
func (c *Cache) use(bucket *bus.Bucket, connection uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.bucket, c.connection = bucket, connection
	c.changes[scope{}]++
}

func (c *Cache) received(m bus.Msg) {
	var got change
	if err := json.Unmarshal(m.Data, &got); err == nil && got.From != c.id {
		c.drop(got.scope)
	}
}

// share sets the markers that could not be set before.
func (c *Cache) share(ctx context.Context) {
	c.mu.Lock()
	var late []scope
	for s := range c.unshared {
		late = append(late, s)
	}
	c.mu.Unlock()
	for _, s := range late {
		if err := c.mark(ctx, s); err != nil {
			c.failed(ctx, "change", err)
			return
		}
		c.mu.Lock()
		delete(c.unshared, s)
		c.mu.Unlock()
		c.drop(s)
		c.announce(ctx, s)
	}
}
