// Package cache keeps results of READ tools: in the memory of each replica, and in a bucket of the bus that all replicas share. It never
// fails a call. Without the bus, replicas could not tell each other about changes, so calls go through then.
//
// A result is valid until it expires, its source or the tool's definition changes, or a call that may have changed something is sent to
// its source. Of the latter, a replica tells the others in two ways: by a message, which drops what they have in memory, and by the
// source's marker in the bucket. A result in the bucket names the marker from before its call; with another marker it is not used, however
// late it was written.
package cache

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"go.opentelemetry.io/otel/metric"

	"github.com/windlass-dev/windlass/libs/batch"
	"github.com/windlass-dev/windlass/libs/bus"
	"github.com/windlass-dev/windlass/libs/ids"
	"github.com/windlass-dev/windlass/libs/metrics"
	"github.com/windlass-dev/windlass/libs/sealedresult"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
)

// MaxTTL is the longest time that a result is kept.
const MaxTTL = 24 * time.Hour

const (
	// bucketName is the bucket of results.
	bucketName = "windlass-tool-results"
	// sharedTimeout bounds each use of the bucket: a call does not wait longer for the cache.
	sharedTimeout = 250 * time.Millisecond
)

// Config limits a cache. All fields are required.
type Config struct {
	// MaxResultBytes limits one result.
	MaxResultBytes int
	// MemoryResults is the number of results in this process, MaxBytes the size of the bucket.
	MemoryResults int
	MaxBytes      int64
}

// Deps holds a cache's dependencies.
type Deps struct {
	// Bus is shared by the replicas.
	Bus *bus.Bus
	// Now is the time by which results expire; the replicas must agree on it.
	Now func() time.Time
	// Results seals what the bucket keeps: shields of those who ask again may withhold it. The bucket keeps nothing without it.
	Results *sealedresult.Sealer
	// Meter counts operations.
	Meter metrics.Meter
	// Log receives failures of the bus.
	Log *slog.Logger
}

// Cache is a cache of results. It is safe for concurrent use.
type Cache struct {
	cfg        Config
	deps       Deps
	id         string // of this replica, to know its own messages
	memory     *lru.Cache[Key, remembered]
	operations metric.Int64Counter
	counted    sync.Map // the attributes of operations
	failures   atomic.Int64
	puts       *batch.Writer[put]

	mu         sync.Mutex
	bucket     *bus.Bucket           // nil while changes of other replicas do not arrive
	connection uint64                // of the bus, by which they arrive
	changes    map[scope]uint64      // number of changes seen
	unshared   map[scope]struct{}    // changes of sources that the bucket does not have yet
	flights    map[Key]chan struct{} // closed at the end of a call that may fill the key
	markers    map[scope]rememberedMarker
}

// scope is what a change affects: a tool, a whole source if tool is empty, everything if source is empty too.
type scope struct {
	Tenant string `json:"tenant,omitempty"`
	Source string `json:"source,omitempty"`
	Tool   string `json:"tool,omitempty"`
}

// Key identifies a result.
type Key struct {
	scope
	hash string
}

// NewKey returns the key of a call. The parts are all that a result depends on, besides the state of the source.
func NewKey(tenant, source, tool string, parts ...string) Key {
	text, err := json.Marshal(append([]string{"1", tenant, source, tool}, parts...))
	if err != nil {
		panic(err) // strings always encode
	}
	sum := sha256.Sum256(text)
	return Key{scope: scope{Tenant: tenant, Source: source, Tool: tool}, hash: hex.EncodeToString(sum[:])}
}

// remembered is a result in memory.
type remembered struct {
	result  *turnv1.ToolResult
	expires time.Time
	changes uint64
}

// rememberedMarker is the marker of a source in memory; changes is from before it was read.
type rememberedMarker struct {
	revision, changes uint64
	expires           time.Time
}

// New returns a cache that holds nothing until Run is called.
func New(cfg Config, deps Deps) (*Cache, error) {
	memory, err := lru.New[Key, remembered](cfg.MemoryResults)
	if err != nil {
		return nil, fmt.Errorf("make cache: %w", err)
	}
	operations := deps.Meter.Counter(metrics.CacheOperations)
	c := &Cache{
		cfg: cfg, deps: deps, id: ids.New(ids.Lease), memory: memory, operations: operations,
		changes: map[scope]uint64{}, unshared: map[scope]struct{}{}, flights: map[Key]chan struct{}{},
		markers: map[scope]rememberedMarker{},
	}
	c.puts = newPuts(c)
	return c, nil
}

// usable returns the bucket; nil while changes of other replicas do not arrive. The caller holds the lock.
func (c *Cache) usable() *bus.Bucket {
	if n, connected := c.deps.Bus.Connection(); !connected || n != c.connection {
		return nil
	}
	return c.bucket
}

func (c *Cache) count(ctx context.Context, operation string) {
	kept, ok := c.counted.Load(operation)
	option, isOption := kept.(metric.MeasurementOption)
	if !ok || !isOption {
		option = metrics.CacheOperations.Labelled(operation)
		c.counted.Store(operation, option)
	}
	c.operations.Add(ctx, 1, option)
}

// failed counts a failure of the bus, which is otherwise invisible. That a caller left is none.
func (c *Cache) failed(ctx context.Context, what string, err error) {
	if errors.Is(err, context.Canceled) {
		return
	}
	c.failures.Add(1)
	c.count(ctx, "error")
	c.deps.Log.DebugContext(ctx, "cache of tool results: bus failed", "operation", what, "error", err)
}

// changesOf returns a number that rises with each change that affects the key. The caller holds the lock.
func (c *Cache) changesOf(k Key) uint64 { return c.changesAt(k.source()) + c.changes[k.scope] }

// changesAt returns a number that rises with each change that affects a whole source. The caller holds the lock.
func (c *Cache) changesAt(source scope) uint64 {
	return c.changes[scope{}] + c.changes[scope{Tenant: source.Tenant}] + c.changes[source]
}

// source returns the scope of the tool's source.
func (s scope) source() scope { return scope{Tenant: s.Tenant, Source: s.Source} }
