package executor

import (
	"errors"
	"fmt"
	"time"

	"github.com/windlass-dev/windlass/libs/glob"
	"github.com/windlass-dev/windlass/libs/process"
)

// Config shapes how a worker runs executors. Zero values mean the defaults of DefaultConfig, apart from Process, EnvAllow and Commands,
// where an empty list allows nothing, and Limits, where 0 means no limit.
type Config struct {
	// Process allows executors that are programs.
	Process bool `yaml:"process" doc:"Whether agents may name programs that this worker starts as executors. Users who may create agents can then run programs on the worker's machine."`
	// Commands lists the programs that may be started.
	Commands []string `yaml:"commands" doc:"Programs that may be started as executors: names, absolute paths with * as in file names (/** at the end: and below), * for any; a pattern for each argument may follow, ... for any further ones. Empty: none."`
	// Limits bound each program.
	Limits process.Limits `yaml:"limits"`
	// CommandPath lists further places of programs.
	CommandPath []string `yaml:"command_path" doc:"Directories in which programs of executors are looked up, after PATH and the folder of this program."`
	// EnvAllow lists which variables of the worker an executor's env and headers may refer to.
	EnvAllow []string `yaml:"env_allow" doc:"Names, with * as in file names, of the environment variables that executors' env and headers may refer to as ${env:NAME}."`
	// MaxProcesses bounds programs and streams at the same time.
	MaxProcesses int `yaml:"max_processes" doc:"Maximum number of executors that this worker runs at the same time, including waiting ones; further rounds wait."`
	// IdleTimeout is how long an executor that stays may wait.
	IdleTimeout time.Duration `yaml:"idle_timeout" doc:"How long an executor that stays may wait for the results of its tool calls. After that, the next round starts a new one."`
	// Grace is how long an executor may take to end by itself.
	Grace time.Duration `yaml:"grace" doc:"Time for a program to exit after its round, or after SIGTERM, before it is killed."`
}

// Limits that are not worth a setting.
const (
	maxLine      = 1 << 20  // of one event
	maxRound     = 16 << 20 // of all events of one round
	maxAnswer    = 8 << 20  // of the text, reasoning and call arguments of one answer, as for a model's; it is stored as one message
	minEvent     = 16       // the least that an event counts as, even one that is skipped, so that a round of nothing else ends
	maxCalls     = 128      // tool calls of one round
	maxErrorBody = 2 << 10  // of an HTTP error's body
	maxCost      = 1 << 53  // of one round, in millionths: JSON numbers are exact up to here
	roundTimeout = 10 * time.Minute
	writeTimeout = 10 * time.Second
)

// DefaultConfig returns the settings that a worker has without configuration.
func DefaultConfig() Config {
	return Config{
		Process: true, EnvAllow: []string{"WINDLASS_EXECUTOR_*"}, MaxProcesses: 64, IdleTimeout: time.Minute, Grace: 2 * time.Second,
		Limits: process.DefaultLimits(),
	}
}

// complete fills zero values and refuses what makes no sense.
func (c Config) complete() (Config, error) {
	def := DefaultConfig()
	if c.MaxProcesses < 0 || c.IdleTimeout < 0 || c.Grace < 0 {
		return c, errors.New("worker.executors: numbers and times must not be negative")
	}
	if c.MaxProcesses == 0 {
		c.MaxProcesses = def.MaxProcesses
	}
	if c.IdleTimeout == 0 {
		c.IdleTimeout = def.IdleTimeout
	}
	if c.Grace == 0 {
		c.Grace = def.Grace
	}
	if err := glob.CheckFile(c.EnvAllow); err != nil {
		return c, fmt.Errorf("worker.executors.env_allow %w", err)
	}
	if err := c.Limits.Check(); err != nil {
		return c, fmt.Errorf("worker.executors: %w", err)
	}
	return c, nil
}
