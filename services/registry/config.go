package registry

import (
	"errors"
	"fmt"
	"time"

	"github.com/windlass-dev/windlass/services/registry/store"
)

// Config is what the registry is told at start.
type Config struct {
	// Sources are created at start, or brought to what is written here; those created through the API stay as they are.
	Sources []SourceConfig `yaml:"sources" doc:"Tool sources that exist from the start. A source of this name is made to be as written here."`
	// SyncEvery is the time between two looks at a source.
	SyncEvery time.Duration `yaml:"sync_every" doc:"Time between two looks at each source."`
	// SyncRetry is the pause after a look that failed; it doubles up to SyncEvery.
	SyncRetry time.Duration `yaml:"sync_retry" doc:"Pause before a source that cannot be reached is tried again; it doubles up to sync_every."`
	// DiscoverTimeout bounds one look.
	DiscoverTimeout time.Duration `yaml:"discover_timeout" doc:"Time for connecting to a tool server and listing its tools."`
	// CallTimeout bounds one tool call of a source that says nothing else.
	CallTimeout time.Duration `yaml:"call_timeout" doc:"Time for one tool call, where the source says nothing else."`
	// CallRetry is the pause before a call that may be repeated is sent again; it doubles.
	CallRetry time.Duration `yaml:"call_retry" doc:"Pause before a tool call that may be repeated is sent again; it doubles."`
	// BreakerFailures and BreakerPause bound what is wasted on a source that is away.
	BreakerFailures int           `yaml:"breaker_failures" doc:"How often in a row a source cannot be reached before its calls fail at once. Each call is tried three times."`
	BreakerPause    time.Duration `yaml:"breaker_pause" doc:"Time for which the calls of such a source fail at once, unless it is found to answer before; then one is let through to try."`
	// MaxTextBytes bounds the text of a result that a model is given.
	MaxTextBytes int `yaml:"max_text_bytes" doc:"Text of a tool's result that a model is given at most, in bytes; the rest is cut."`
	// MaxResultBytes bounds a result as it is kept.
	MaxResultBytes int `yaml:"max_result_bytes" doc:"Size of a tool's whole result at most, in bytes; a bigger one becomes an error for the model."`
	// LeaseTTL is how long others believe that a replica runs a call without a sign of life of it.
	LeaseTTL time.Duration `yaml:"lease_ttl" doc:"Time after which a call is taken for orphaned when the replica that runs it gives no sign of life."`
	// DrainTimeout bounds the wait for running calls when the registry stops.
	DrainTimeout time.Duration `yaml:"drain_timeout" doc:"Time that running tool calls are given when the registry stops."`
}

// SourceConfig is a source in the configuration; the fields are those of the API.
type SourceConfig struct {
	// Name is the prefix of its tools' names.
	Name string `yaml:"name" doc:"Prefix of its tools' names."`
	// Kind is "mcp" or "builtin"; empty = mcp.
	Kind string `yaml:"kind" doc:"mcp (default) or builtin."`
	// URL is the endpoint of an MCP server.
	URL string `yaml:"url" doc:"Endpoint of an MCP server over HTTP."`
	// Command is program and arguments of an MCP server.
	Command []string `yaml:"command" doc:"Program and arguments of an MCP server over stdio."`
	// Env is the program's environment.
	Env map[string]string `yaml:"env" doc:"Environment of the program. Secrets must be references: ${env:NAME}."`
	// Dir is the program's working directory.
	Dir string `yaml:"dir" doc:"Working directory of the program."`
	// Headers go with each HTTP request.
	Headers map[string]string `yaml:"headers" doc:"Headers of each HTTP request. Secrets must be references: ${env:NAME}."`
	// Transport forces one.
	Transport string `yaml:"transport" doc:"Force a transport: http, sse or stdio."`
	// Disabled switches the source off.
	Disabled bool `yaml:"disabled" doc:"Switch the source off."`
	// CallTimeoutSeconds bounds one call; 0 = the default.
	CallTimeoutSeconds uint32 `yaml:"call_timeout_seconds" doc:"Time for one tool call in seconds; 0 = call_timeout."`
	// Effects are "read", "idempotent" or "once" by the server's own tool name.
	Effects map[string]string `yaml:"effects" doc:"Effect class (read, idempotent, once) by the server's own tool name."`
	// Elicitation says what becomes of questions to the user.
	Elicitation string `yaml:"elicitation" doc:"What becomes of questions that its tools ask the user: reissue (default) asks him, off declines them."`
	// Labels are free.
	Labels map[string]string `yaml:"labels" doc:"Free labels."`
}

// DefaultConfig has no sources besides the mesh's own.
func DefaultConfig() Config {
	return Config{
		SyncEvery: 30 * time.Second, SyncRetry: time.Second, DiscoverTimeout: 15 * time.Second,
		CallTimeout: 2 * time.Minute, CallRetry: 200 * time.Millisecond,
		BreakerFailures: 6, BreakerPause: 10 * time.Second,
		MaxTextBytes: 64 << 10, MaxResultBytes: 8 << 20, LeaseTTL: 5 * time.Second, DrainTimeout: 10 * time.Second,
	}
}

// complete fills in defaults and checks the rest.
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
		{"lease_ttl", &c.LeaseTTL, def.LeaseTTL},
		{"drain_timeout", &c.DrainTimeout, def.DrainTimeout},
	} {
		if *d.value < 0 {
			return c, fmt.Errorf("registry: %s must not be negative", d.name)
		}
		if *d.value == 0 {
			*d.value = d.def
		}
	}
	if c.MaxTextBytes < 0 || c.MaxResultBytes < 0 || c.BreakerFailures < 0 {
		return c, errors.New("registry: max_text_bytes, max_result_bytes and breaker_failures must not be negative")
	}
	if c.BreakerFailures == 0 {
		c.BreakerFailures = def.BreakerFailures
	}
	if c.MaxTextBytes == 0 {
		c.MaxTextBytes = def.MaxTextBytes
	}
	if c.MaxResultBytes == 0 {
		c.MaxResultBytes = def.MaxResultBytes
	}
	_, err := c.static()
	return c, err
}

// static returns the sources of the configuration, and the mesh's own.
func (c Config) static() ([]store.Source, error) {
	all := []store.Source{{Name: MeshSource, Kind: store.Builtin}}
	seen := map[string]bool{MeshSource: true}
	for _, sc := range c.Sources {
		s, err := sc.source()
		if err == nil {
			err = validateSource(s)
		}
		if err == nil && seen[s.Name] {
			err = errors.New("this name is there twice")
		}
		if err != nil {
			return nil, fmt.Errorf("registry: source %q of the configuration: %w", sc.Name, err)
		}
		seen[s.Name] = true
		all = append(all, s)
	}
	return all, nil
}

func (c SourceConfig) source() (store.Source, error) {
	s := store.Source{Name: c.Name, Kind: c.Kind, Disabled: c.Disabled, Spec: store.Spec{
		URL: c.URL, Command: c.Command, Env: c.Env, Dir: c.Dir, Headers: c.Headers, Transport: c.Transport,
		CallTimeout: c.CallTimeoutSeconds, Labels: c.Labels, Elicitation: c.Elicitation,
	}}
	if s.Kind == "" {
		s.Kind = store.MCP
	}
	classes := map[string]store.Effect{"read": store.Read, "idempotent": store.Idempotent, "once": store.Once}
	for tool, class := range c.Effects {
		e, ok := classes[class]
		if !ok {
			return s, fmt.Errorf("effects: %q is %q; use read, idempotent or once", tool, class)
		}
		if s.Spec.Effects == nil {
			s.Spec.Effects = map[string]store.Effect{}
		}
		s.Spec.Effects[tool] = e
	}
	return s, nil
}
