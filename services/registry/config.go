package registry

import (
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/windlass-dev/windlass/libs/config"
	"github.com/windlass-dev/windlass/libs/eventlog"
	"github.com/windlass-dev/windlass/libs/glob"
)

// Config configures the registry.
type Config struct {
	Sources         []SourceConfig `yaml:"sources" doc:"Tool sources that exist from the start. An existing source of the same name is updated to match. Their fields are those of a source in the API and in bundles; kind is mcp unless it is set. tenant is the tenant that the source belongs to (empty: default). Secrets must be references, written $${env:NAME} here."`
	SyncEvery       time.Duration  `yaml:"sync_every" default:"30s" doc:"Interval between syncs of each source."`
	SyncRetry       time.Duration  `yaml:"sync_retry" default:"1s" doc:"Pause before an unreachable source is synced again; it doubles up to sync_every."`
	DiscoverTimeout time.Duration  `yaml:"discover_timeout" default:"15s" doc:"Timeout of connecting to a tool server and listing its tools."`
	CallTimeout     time.Duration  `yaml:"call_timeout" default:"2m" doc:"Timeout of one tool call, unless its source sets another."`
	CallRetry       time.Duration  `yaml:"call_retry" default:"200ms" doc:"Pause before a repeatable tool call is sent again; it doubles."`
	BreakerFailures int            `yaml:"breaker_failures" default:"6" doc:"Consecutive failures to reach a source, over at least restart_patience, after which its calls fail at once."`
	BreakerPause    time.Duration  `yaml:"breaker_pause" default:"10s" doc:"How long the calls of such a source fail at once, unless a sync reaches it earlier; then one call is let through as a trial."`
	RestartPatience time.Duration  `yaml:"restart_patience" default:"5s" doc:"How long a call to a source that cannot be reached is tried again, at least three times, as the source may be restarting."`
	MaxCalls        int            `yaml:"max_calls" default:"64" doc:"Calls of one source that run in parallel in this process, unless the source sets another number; more wait."`
	QueueTimeout    time.Duration  `yaml:"queue_timeout" default:"10s" doc:"How long a call waits when as many calls of its source run as may."`
	MaxTextBytes    int            `yaml:"max_text_bytes" default:"65536" doc:"Maximum text of a tool's result for the model, in bytes; the rest is truncated."`
	MaxResultBytes  int            `yaml:"max_result_bytes" default:"8388608" doc:"Maximum size of a tool's whole result, in bytes; a larger one becomes an error for the model."`
	Cache           CacheConfig    `yaml:"cache" doc:"Cache of the results of READ tools."`
	OpenAPI         OpenAPIConfig  `yaml:"openapi" doc:"Limits of OpenAPI documents."`
	Skills          SkillsConfig   `yaml:"skills" doc:"Sources of kind skills."`
	EnvAllow        []string       `yaml:"env_allow" default:"WINDLASS_TOOL_*" doc:"Names, with * as in file names, of the environment variables that headers and auth of APIs may refer to as ${env:NAME}."`
	LeaseTTL        time.Duration  `yaml:"lease_ttl" default:"5s" doc:"Time without a heartbeat of its replica after which a call counts as orphaned."`
	DrainTimeout    time.Duration  `yaml:"drain_timeout" default:"10s" doc:"Time that running tool calls get to finish when the registry stops."`
	EventRetention  time.Duration  `yaml:"event_retention" default:"720h" doc:"How long domain events are kept, at most 9600h (400 days)."`
}

// OpenAPIConfig bounds the work on one OpenAPI document.
type OpenAPIConfig struct {
	MaxBytes      int `yaml:"max_bytes" default:"16777216" doc:"Largest document in bytes."`
	MaxOperations int `yaml:"max_operations" default:"2000" doc:"Maximum number of operations of one document that become tools."`
}

// SkillsConfig configures sources of kind skills.
type SkillsConfig struct {
	Dirs []string `yaml:"dirs" doc:"Absolute paths of folders of the registry's machine: sources may have their skills in these and in folders below them, in all tenants. Empty: no source may name a folder."`
}

// check rejects folders that depend on where the process was started.
func (c SkillsConfig) check() error {
	for _, dir := range c.Dirs {
		if !filepath.IsAbs(dir) {
			return fmt.Errorf("registry: skills.dirs: %q is no absolute path", dir)
		}
	}
	return nil
}

// check rejects a configuration that makes no sense.
func (c Config) check() error {
	if err := config.CheckNotNegative(c); err != nil {
		return fmt.Errorf("registry: %w", err)
	}
	if err := c.Cache.check(); err != nil {
		return err
	}
	if err := glob.CheckFile(c.EnvAllow); err != nil {
		return fmt.Errorf("registry: env_allow %w", err)
	}
	_, err := c.static()
	return errors.Join(err, c.Skills.check(), eventlog.CheckRetention(c.EventRetention))
}
