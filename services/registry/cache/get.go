package cache

import (
	"context"
	"encoding/binary"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/windlass-dev/windlass/libs/bus"
	"github.com/windlass-dev/windlass/libs/sealedresult"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
)

// Fill is a call whose result may be kept. Done must be called at its end.
type Fill struct {
	cache   *Cache
	key     Key
	ttl     time.Duration
	bucket  *bus.Bucket // nil: the result is not kept
	changes uint64      // from before the call
	marker  uint64      // likewise
	flight  chan struct{}
}

// Get returns the result of an earlier call, which must not be modified. Without one it returns nil and a Fill for the call to make. While
// another call in this process may fill the key, it waits for that one. The result of the call is kept for ttl, at most MaxTTL.
func (c *Cache) Get(ctx context.Context, k Key, ttl time.Duration) (*turnv1.ToolResult, *Fill) {
	f := c.start(ctx, k, ttl)
	if f.bucket == nil {
		return nil, f
	}
	result := c.recall(k)
	if result == nil {
		result = f.load(ctx)
	}
	if result == nil {
		c.count(ctx, "miss")
		return nil, f
	}
	f.end()
	c.count(ctx, "hit")
	return result, nil
}

// Fill returns a Fill for a call that must be made although there may be a result.
func (c *Cache) Fill(ctx context.Context, k Key, ttl time.Duration) *Fill {
	c.mu.Lock()
	f := c.fill(k, ttl)
	c.mu.Unlock()
	if f.bucket != nil && !f.recallMarker() {
		f.readMarker(ctx)
	}
	return f
}

// start waits for another call with this key, once: if that one leaves no result, the key is perhaps never filled.
func (c *Cache) start(ctx context.Context, k Key, ttl time.Duration) *Fill {
	c.mu.Lock()
	if other, ok := c.flights[k]; ok {
		c.mu.Unlock()
		select {
		case <-other:
		case <-ctx.Done():
		}
		c.mu.Lock()
	}
	defer c.mu.Unlock()
	f := c.fill(k, ttl)
	if _, ok := c.flights[k]; !ok && f.bucket != nil {
		f.flight = make(chan struct{})
		c.flights[k] = f.flight
	}
	return f
}

// fill returns a Fill that nobody waits for. The caller holds the lock.
func (c *Cache) fill(k Key, ttl time.Duration) *Fill {
	f := &Fill{cache: c, key: k, ttl: min(ttl, MaxTTL), bucket: c.usable(), changes: c.changesOf(k)}
	if _, ok := c.unshared[scope{Tenant: k.Tenant, Source: k.Source}]; ok {
		f.bucket = nil
	}
	return f
}

// recall returns the result in memory, nil if there is none.
func (c *Cache) recall(k Key) *turnv1.ToolResult {
	kept, ok := c.memory.Get(k)
	if !ok {
		return nil
	}
	c.mu.Lock()
	current := c.changesOf(k)
	c.mu.Unlock()
	if kept.changes != current || !c.deps.Now().Before(kept.expires) {
		c.memory.Remove(k)
		return nil
	}
	return kept.result
}

// load reads the result from the bucket, and the source's marker.
func (f *Fill) load(ctx context.Context) *turnv1.ToolResult {
	ctx, cancel := context.WithTimeout(ctx, sharedTimeout)
	defer cancel()
	bucket, markerRead := f.bucket, make(chan struct{})
	if f.recallMarker() {
		close(markerRead)
	} else {
		go func() {
			defer close(markerRead)
			f.readMarker(ctx)
		}()
	}
	// A change while both are read may be seen or not. One that came before is in the marker, and makes an earlier result invalid.
	value, found, err := bucket.Get(ctx, f.key.subject())
	<-markerRead
	switch {
	case f.bucket == nil:
		return nil
	case err != nil:
		f.failed(ctx, "get", err)
		return nil
	case !found:
		return nil
	}
	result, expires, ok := f.decode(value.Data)
	if !ok {
		return nil
	}
	f.cache.remember(f.key, remembered{result: result, expires: expires, changes: f.changes}, len(value.Data))
	return result
}

// recallMarker takes the source's marker from memory; false if it is not there. Changes of this replica, and messages of others, make it
// invalid, as they do results in memory. It is read again after markerAge, since the bus may have removed it.
func (f *Fill) recallMarker() bool {
	c := f.cache
	c.mu.Lock()
	defer c.mu.Unlock()
	source := f.key.source()
	kept, ok := c.markers[source]
	if !ok || kept.changes != c.changesAt(source) || !c.deps.Now().Before(kept.expires) {
		return false
	}
	f.marker = kept.revision
	return true
}

// markerAge is how long a marker is kept in memory.
const markerAge = 10 * time.Second

// readMarker reads the source's marker, and sets one if there is none: results that name an earlier one must stay invalid when the bus
// removed it.
func (f *Fill) readMarker(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, sharedTimeout)
	defer cancel()
	c, source := f.cache, f.key.source()
	c.mu.Lock()
	before := c.changesAt(source)
	c.mu.Unlock()
	marker, found, err := f.bucket.Get(ctx, f.key.marker())
	f.marker = marker.Revision
	if err == nil && !found {
		f.marker, err = f.bucket.Put(ctx, f.key.marker(), nil)
	}
	if err != nil {
		f.failed(ctx, "get", err)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.markers[source] = rememberedMarker{f.marker, before, c.deps.Now().Add(markerAge)}
}

// failed counts a failure of the bus. The result of the call is not kept.
func (f *Fill) failed(ctx context.Context, what string, err error) {
	f.cache.failed(ctx, what, err)
	f.bucket = nil
}

// Done ends the call; on nil it does nothing. The result is kept if it is not nil and nothing changed since Get; it must not be modified
// afterwards. Other replicas find it a moment later.
func (f *Fill) Done(ctx context.Context, result *turnv1.ToolResult) {
	if f == nil {
		return
	}
	defer f.end()
	if result == nil || f.bucket == nil {
		return
	}
	expires := f.cache.deps.Now().Add(f.ttl)
	value, err := f.encode(result, expires)
	if err != nil || len(value) > f.cache.cfg.MaxResultBytes {
		return
	}
	if !f.cache.remember(f.key, remembered{result: result, expires: expires, changes: f.changes}, len(value)) {
		return
	}
	put{fill: f, value: value}.later(ctx)
	if len(value) <= maxMemoryBytes {
		return
	}
	// Callers that wait for this call find it in the bucket only.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), sharedTimeout)
	defer cancel()
	if err := f.cache.Wait(ctx); err != nil {
		f.cache.failed(ctx, "put", err)
	}
}

// end lets those go on that wait for the call.
func (f *Fill) end() {
	if f.flight == nil {
		return
	}
	f.cache.mu.Lock()
	delete(f.cache.flights, f.key)
	f.cache.mu.Unlock()
	close(f.flight)
	f.flight = nil
}

// remember keeps a result in memory if it is small; it returns false if something changed since the call began.
func (c *Cache) remember(k Key, r remembered, size int) bool {
	c.mu.Lock()
	valid := r.changes == c.changesOf(k)
	c.mu.Unlock()
	if valid && size <= maxMemoryBytes {
		c.memory.Add(k, r)
	}
	return valid
}

// maxMemoryBytes limits a result in memory.
const maxMemoryBytes = 64 << 10

// header is the length of what precedes the sealed result in a value: the time at which it expires, in Unix microseconds, and the marker.
const header = 16

func (f *Fill) encode(result *turnv1.ToolResult, expires time.Time) ([]byte, error) {
	value := binary.BigEndian.AppendUint64(nil, uint64(expires.UnixMicro()))
	value = binary.BigEndian.AppendUint64(value, f.marker)
	raw, err := proto.Marshal(result)
	if err != nil {
		return nil, err
	}
	return append(value, f.cache.deps.Results.Seal(raw, f.key.subject())...), nil
}

func (f *Fill) decode(value []byte) (*turnv1.ToolResult, time.Time, bool) {
	if len(value) < header || binary.BigEndian.Uint64(value[8:]) != f.marker {
		return nil, time.Time{}, false
	}
	expires := time.UnixMicro(int64(binary.BigEndian.Uint64(value)))
	if !f.cache.deps.Now().Before(expires) || !sealedresult.Is(value[header:]) {
		return nil, time.Time{}, false
	}
	raw, err := f.cache.deps.Results.Open(value[header:], f.key.subject())
	result := &turnv1.ToolResult{}
	if err != nil || proto.Unmarshal(raw, result) != nil { // of another key, or damaged: the call is made
		return nil, time.Time{}, false
	}
	return result, expires, true
}
