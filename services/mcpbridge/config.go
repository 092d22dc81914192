package mcpbridge

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"github.com/windlass-dev/windlass/libs/backoff"
	"github.com/windlass-dev/windlass/libs/config"
	"github.com/windlass-dev/windlass/libs/glob"
	"github.com/windlass-dev/windlass/libs/process"
	"github.com/windlass-dev/windlass/services/mcpbridge/result"
)

// Config configures the bridge. Zero stands for the default, except that empty lists allow nothing and Limits of 0 are no limits.
type Config struct {
	EnvAllow []string `yaml:"env_allow" default:"WINDLASS_TOOL_*" doc:"names, with * as in file names, of the environment variables that tool servers' env and headers may refer to as ${env:NAME}"`
	Programs []string `yaml:"programs" doc:"programs that may be started as tool servers: names, absolute paths with * as in file names (/** at the end: and below), * for any; a pattern for each argument may follow, ... for any further ones. Empty: none"`
	// Limits bound each program.
	Limits          process.Limits `yaml:"limits"`
	CommandPath     []string       `yaml:"command_path" doc:"directories where programs of tool servers are looked for, after PATH and the folder of this program"`
	ConnectTimeout  time.Duration  `yaml:"connect_timeout" default:"10s" doc:"timeout of connecting to a tool server and listing its tools, unless the server's entry sets it"`
	CallTimeout     time.Duration  `yaml:"call_timeout" default:"2m" doc:"timeout of one tool call, unless the server's entry sets it"`
	DiscoverTimeout time.Duration  `yaml:"discover_timeout" default:"400ms" doc:"how long a new tool server may take to answer whether it speaks protocol 2026-07-28"`
	IdleTimeout     time.Duration  `yaml:"idle_timeout" default:"10m" doc:"how long an unused connection to a tool server is kept; those that report list changes are always kept"`
	MaxCalls        int            `yaml:"max_calls" default:"64" doc:"concurrent calls per tool server; more wait"`
	QueueTimeout    time.Duration  `yaml:"queue_timeout" default:"10s" doc:"how long a call waits when max_calls are running"`
	MaxResultBytes  int            `yaml:"max_result_bytes" default:"8388608" doc:"largest tool result in bytes; a larger one becomes an error result"`
	ReconnectMin    time.Duration  `yaml:"reconnect_min" default:"1s" doc:"first delay before reconnecting to a lost tool server"`
	ReconnectMax    time.Duration  `yaml:"reconnect_max" default:"30s" doc:"longest delay before reconnecting to a lost tool server"`
}

// check rejects a configuration that makes no sense.
func (c Config) check() error {
	if err := cmp.Or(config.CheckNotNegative(c), c.Limits.Check()); err != nil {
		return fmt.Errorf("mcpbridge: %w", err)
	}
	if c.MaxResultBytes > result.MaxBytes {
		return fmt.Errorf("mcpbridge: max_result_bytes is %d, more than a message of the mesh holds (%d)", c.MaxResultBytes, result.MaxBytes)
	}
	if c.ReconnectMin > c.ReconnectMax {
		return errors.New("mcpbridge: reconnect_min is longer than reconnect_max")
	}
	if err := glob.CheckFile(c.EnvAllow); err != nil {
		return fmt.Errorf("mcpbridge: env_allow %w", err)
	}
	return nil
}

// reconnects are the waits for a lost tool server: the configured ones less up to a quarter, so that many do not come back at once.
func (c Config) reconnects() backoff.Policy {
	return backoff.Policy{First: c.ReconnectMin * 7 / 8, Max: c.ReconnectMax * 7 / 8, Jitter: 1.0 / 7}
}
