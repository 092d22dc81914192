package registry

import (
	"errors"
	"fmt"
	"time"

	"github.com/windlass-dev/windlass/libs/eventlog"
	"github.com/windlass-dev/windlass/libs/glob"
)

// Config configures the registry.
type Config struct {
	// Sources are created at start, or updated to match; those created through the API are unchanged.
	Sources []SourceConfig `yaml:"sources" doc:"Tool sources that exist from the start. An existing source of the same name is updated to match. Their fields are those of a source in the API and in bundles; kind is mcp unless it is set. tenant is the tenant that the source belongs to (empty: default). Secrets must be references, written $${env:NAME} here."`
	// SyncEvery is the interval between syncs of a source.
	SyncEvery time.Duration `yaml:"sync_every" doc:"Interval between syncs of each source."`
	// SyncRetry is the pause after a failed sync; it doubles up to SyncEvery.
	SyncRetry time.Duration `yaml:"sync_retry" doc:"Pause before an unreachable source is synced again; it doubles up to sync_every."`
	// DiscoverTimeout bounds one sync.
	DiscoverTimeout time.Duration `yaml:"discover_timeout" doc:"Timeout of connecting to a tool server and listing its tools."`
	// CallTimeout bounds one tool call unless its source sets another timeout.
	CallTimeout time.Duration `yaml:"call_timeout" doc:"Timeout of one tool call, unless its source sets another."`
	// CallRetry is the pause before a repeatable call is sent again; it doubles.
	CallRetry time.Duration `yaml:"call_retry" doc:"Pause before a repeatable tool call is sent again; it doubles."`
	// BreakerFailures and BreakerPause limit what is wasted on an unreachable source.
	BreakerFailures int           `yaml:"breaker_failures" doc:"Consecutive failures to reach a source, over at least restart_patience, after which its calls fail at once."`
	BreakerPause    time.Duration `yaml:"breaker_pause" doc:"How long the calls of such a source fail at once, unless a sync reaches it earlier; then one call is let through as a trial."`
	// RestartPatience is for how long a source that cannot be reached counts as restarting.
	RestartPatience time.Duration `yaml:"restart_patience" doc:"How long a call to a source that cannot be reached is tried again, at least three times, as the source may be restarting."`
	// MaxCalls bounds the calls of one source that run in parallel, QueueTimeout how long more of them wait.
	MaxCalls     int           `yaml:"max_calls" doc:"Calls of one source that run in parallel in this process, unless the source sets another number; more wait."`
	QueueTimeout time.Duration `yaml:"queue_timeout" doc:"How long a call waits when as many calls of its source run as may."`
	// MaxTextBytes limits the text of a result for the model.
	MaxTextBytes int `yaml:"max_text_bytes" doc:"Maximum text of a tool's result for the model, in bytes; the rest is truncated."`
	// MaxResultBytes limits a stored result.
	MaxResultBytes int `yaml:"max_result_bytes" doc:"Maximum size of a tool's whole result, in bytes; a larger one becomes an error for the model."`
	// Cache limits what is kept of results.
	Cache CacheConfig `yaml:"cache" doc:"Cache of the results of READ tools."`
	// OpenAPI bounds the documents of APIs.
	OpenAPI OpenAPIConfig `yaml:"openapi" doc:"Limits of OpenAPI documents."`
	// EnvAllow lists the variables that APIs' headers and credentials may reference.
	EnvAllow []string `yaml:"env_allow" doc:"Names, with * as in file names, of the environment variables that headers and auth of APIs may refer to as ${env:NAME}."`
	// LeaseTTL is how long a call stays leased to a replica that sends no heartbeat.
	LeaseTTL time.Duration `yaml:"lease_ttl" doc:"Time without a heartbeat of its replica after which a call counts as orphaned."`
	// DrainTimeout bounds the wait for running calls when the registry stops.
	DrainTimeout time.Duration `yaml:"drain_timeout" doc:"Time that running tool calls get to finish when the registry stops."`
	// EventRetention is how long domain events are kept.
	EventRetention time.Duration `yaml:"event_retention" doc:"How long domain events are kept, at most 9600h (400 days)."`
}

// OpenAPIConfig bounds the work on one OpenAPI document.
type OpenAPIConfig struct {
	// MaxBytes is the largest document.
	MaxBytes int `yaml:"max_bytes" doc:"Largest document in bytes."`
	// MaxOperations is how many operations of a document may become tools.
	MaxOperations int `yaml:"max_operations" doc:"Maximum number of operations of one document that become tools."`
}

// DefaultConfig returns the defaults, with no sources besides the mesh's own.
func DefaultConfig() Config {
	return Config{
		SyncEvery: 30 * time.Second, SyncRetry: time.Second, DiscoverTimeout: 15 * time.Second,
		CallTimeout: 2 * time.Minute, CallRetry: 200 * time.Millisecond,
		BreakerFailures: 6, BreakerPause: 10 * time.Second, RestartPatience: 5 * time.Second,
		MaxCalls: 64, QueueTimeout: 10 * time.Second,
		MaxTextBytes: 64 << 10, MaxResultBytes: 8 << 20, LeaseTTL: 5 * time.Second, DrainTimeout: 10 * time.Second,
		Cache:   CacheConfig{TTL: 10 * time.Minute, MaxResultBytes: 256 << 10, MemoryResults: 1000, MaxBytes: 64 << 20},
		OpenAPI: OpenAPIConfig{MaxBytes: 16 << 20, MaxOperations: 2000}, EnvAllow: []string{"WINDLASS_TOOL_*"},
		EventRetention: eventlog.DefaultRetention,
	}
}

// complete sets defaults and validates the rest.
func (c Config) complete() (Config, error) {
	def := DefaultConfig()
	for _, d := range []struct {
		name  string
		value *time.Duration
		def   time.Duration
	}{
		{"sync_every", &c.SyncEvery, def.SyncEvery},
		{"sync_retry", &c.SyncRetry, def.SyncRetry},
		{"discover_timeout", &c.DiscoverTimeout, def.DiscoverTimeout},
		{"call_timeout", &c.CallTimeout, def.CallTimeout},
		{"call_retry", &c.CallRetry, def.CallRetry},
		{"breaker_pause", &c.BreakerPause, def.BreakerPause},
		{"restart_patience", &c.RestartPatience, def.RestartPatience},
		{"queue_timeout", &c.QueueTimeout, def.QueueTimeout},
		{"lease_ttl", &c.LeaseTTL, def.LeaseTTL},
		{"cache.ttl", &c.Cache.TTL, def.Cache.TTL},
		{"drain_timeout", &c.DrainTimeout, def.DrainTimeout},
		{"event_retention", &c.EventRetention, def.EventRetention},
	} {
		if *d.value < 0 {
			return c, fmt.Errorf("registry: %s must not be negative", d.name)
		}
		if *d.value == 0 {
			*d.value = d.def
		}
	}
	for _, n := range []struct {
		name  string
		value *int
		def   int
	}{
		{"max_text_bytes", &c.MaxTextBytes, def.MaxTextBytes},
		{"max_result_bytes", &c.MaxResultBytes, def.MaxResultBytes},
		{"max_calls", &c.MaxCalls, def.MaxCalls},
		{"breaker_failures", &c.BreakerFailures, def.BreakerFailures},
		{"cache.max_result_bytes", &c.Cache.MaxResultBytes, def.Cache.MaxResultBytes},
		{"cache.memory_results", &c.Cache.MemoryResults, def.Cache.MemoryResults},
		{"openapi.max_bytes", &c.OpenAPI.MaxBytes, def.OpenAPI.MaxBytes},
		{"openapi.max_operations", &c.OpenAPI.MaxOperations, def.OpenAPI.MaxOperations},
	} {
		if *n.value < 0 {
			return c, fmt.Errorf("registry: %s must not be negative", n.name)
		}
		if *n.value == 0 {
			*n.value = n.def
		}
	}
	if err := c.Cache.check(); err != nil {
		return c, err
	}
	if c.Cache.MaxBytes == 0 {
		c.Cache.MaxBytes = def.Cache.MaxBytes
	}
	if err := glob.CheckFile(c.EnvAllow); err != nil {
		return c, fmt.Errorf("registry: env_allow %w", err)
	}
	_, err := c.static()
	return c, errors.Join(err, eventlog.CheckRetention(c.EventRetention))
}
