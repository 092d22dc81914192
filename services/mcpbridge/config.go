package mcpbridge

import (
	"errors"
	"fmt"
	"time"

	"github.com/windlass-dev/windlass/libs/backoff"
	"github.com/windlass-dev/windlass/libs/glob"
	"github.com/windlass-dev/windlass/libs/process"
	"github.com/windlass-dev/windlass/services/mcpbridge/result"
)

// Config configures the bridge. Zero values mean the defaults of DefaultConfig, except for EnvAllow and Programs, where an
// empty list allows nothing, and for Limits, where 0 means no limit.
type Config struct {
	// EnvAllow lists the variables of the bridge that a server's env and headers may reference.
	EnvAllow []string `yaml:"env_allow" doc:"names, with * as in file names, of the environment variables that tool servers' env and headers may refer to as ${env:NAME}"`
	// Programs lists what may be started.
	Programs []string `yaml:"programs" doc:"programs that may be started as tool servers: names, absolute paths with * as in file names (/** at the end: and below), * for any; a pattern for each argument may follow, ... for any further ones. Empty: none"`
	// Limits bound each program.
	Limits process.Limits `yaml:"limits"`
	// CommandPath lists additional directories of programs.
	CommandPath []string `yaml:"command_path" doc:"directories where programs of tool servers are looked for, after PATH and the folder of this program"`
	// ConnectTimeout bounds connecting and listing unless a server sets it.
	ConnectTimeout time.Duration `yaml:"connect_timeout" doc:"timeout of connecting to a tool server and listing its tools, unless the server's entry sets it"`
	// CallTimeout bounds a call unless a server sets it.
	CallTimeout time.Duration `yaml:"call_timeout" doc:"timeout of one tool call, unless the server's entry sets it"`
	// DiscoverTimeout bounds the check whether a server speaks the stateless protocol.
	DiscoverTimeout time.Duration `yaml:"discover_timeout" doc:"how long a new tool server may take to answer whether it speaks protocol 2026-07-28"`
	// IdleTimeout is how long an unused connection stays open.
	IdleTimeout time.Duration `yaml:"idle_timeout" doc:"how long an unused connection to a tool server is kept; those that report list changes are always kept"`
	// MaxCalls limits concurrent calls per server.
	MaxCalls int `yaml:"max_calls" doc:"concurrent calls per tool server; more wait"`
	// QueueTimeout is how long a call waits for a slot.
	QueueTimeout time.Duration `yaml:"queue_timeout" doc:"how long a call waits when max_calls are running"`
	// MaxResultBytes limits a tool's result.
	MaxResultBytes int `yaml:"max_result_bytes" doc:"largest tool result in bytes; a larger one becomes an error result"`
	// ReconnectMin is the first delay before reconnecting to a lost server.
	ReconnectMin time.Duration `yaml:"reconnect_min" doc:"first delay before reconnecting to a lost tool server"`
	// ReconnectMax is the longest such delay.
	ReconnectMax time.Duration `yaml:"reconnect_max" doc:"longest delay before reconnecting to a lost tool server"`
}

// DefaultConfig returns the default settings.
func DefaultConfig() Config {
	return Config{
		EnvAllow:        []string{"WINDLASS_TOOL_*"},
		Limits:          process.DefaultLimits(),
		ConnectTimeout:  10 * time.Second,
		CallTimeout:     2 * time.Minute,
		DiscoverTimeout: 400 * time.Millisecond,
		IdleTimeout:     10 * time.Minute,
		MaxCalls:        64,
		QueueTimeout:    10 * time.Second,
		MaxResultBytes:  8 << 20,
		ReconnectMin:    time.Second,
		ReconnectMax:    30 * time.Second,
	}
}

// complete sets defaults and rejects invalid settings.
func (c Config) complete() (Config, error) {
	def := DefaultConfig()
	for _, d := range []struct{ value, def *time.Duration }{
		{&c.ConnectTimeout, &def.ConnectTimeout},
		{&c.CallTimeout, &def.CallTimeout},
		{&c.DiscoverTimeout, &def.DiscoverTimeout},
		{&c.IdleTimeout, &def.IdleTimeout},
		{&c.QueueTimeout, &def.QueueTimeout},
		{&c.ReconnectMin, &def.ReconnectMin},
		{&c.ReconnectMax, &def.ReconnectMax},
	} {
		switch {
		case *d.value < 0:
			return c, errors.New("mcpbridge: times must not be negative")
		case *d.value == 0:
			*d.value = *d.def
		}
	}
	for _, n := range []struct{ value, def *int }{{&c.MaxCalls, &def.MaxCalls}, {&c.MaxResultBytes, &def.MaxResultBytes}} {
		switch {
		case *n.value < 0:
			return c, errors.New("mcpbridge: max_calls and max_result_bytes must not be negative")
		case *n.value == 0:
			*n.value = *n.def
		}
	}
	if c.MaxResultBytes > result.MaxBytes {
		return c, fmt.Errorf("mcpbridge: max_result_bytes is %d, more than a message of the mesh holds (%d)", c.MaxResultBytes, result.MaxBytes)
	}
	if c.ReconnectMin > c.ReconnectMax {
		return c, errors.New("mcpbridge: reconnect_min is longer than reconnect_max")
	}
	if err := c.Limits.Check(); err != nil {
		return c, fmt.Errorf("mcpbridge: %w", err)
	}
	if err := glob.CheckFile(c.EnvAllow); err != nil {
		return c, fmt.Errorf("mcpbridge: env_allow %w", err)
	}
	return c, nil
}

// reconnects are the waits for a lost tool server: the configured ones less up to a quarter, so that many do not come back at once.
func (c Config) reconnects() backoff.Policy {
	return backoff.Policy{First: c.ReconnectMin * 7 / 8, Max: c.ReconnectMax * 7 / 8, Jitter: 1.0 / 7}
}
