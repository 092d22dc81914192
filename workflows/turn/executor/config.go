package executor

import (
	"cmp"
	"fmt"
	"time"

	"github.com/windlass-dev/windlass/libs/config"
	"github.com/windlass-dev/windlass/libs/glob"
	"github.com/windlass-dev/windlass/libs/process"
)

// Config shapes how a worker runs executors. Zero stands for the default, except that Process is off, empty lists allow nothing and Limits
// of 0 are no limits.
type Config struct {
	Process  bool     `yaml:"process" default:"true" doc:"Whether agents may name programs that this worker starts as executors. Users who may create agents can then run programs on the worker's machine."`
	Commands []string `yaml:"commands" doc:"Programs that may be started as executors: names, absolute paths with * as in file names (/** at the end: and below), * for any; a pattern for each argument may follow, ... for any further ones. Empty: none."`
	// Limits bound each program.
	Limits       process.Limits `yaml:"limits"`
	CommandPath  []string       `yaml:"command_path" doc:"Directories in which programs of executors are looked up, after PATH and the folder of this program."`
	EnvAllow     []string       `yaml:"env_allow" default:"WINDLASS_EXECUTOR_*" doc:"Names, with * as in file names, of the environment variables that executors' env and headers may refer to as ${env:NAME}."`
	MaxProcesses int            `yaml:"max_processes" default:"64" doc:"Maximum number of executors that this worker runs at the same time, including waiting ones; further rounds wait."`
	IdleTimeout  time.Duration  `yaml:"idle_timeout" default:"1m" doc:"How long an executor that stays may wait for the results of its tool calls. After that, the next round starts a new one."`
	Grace        time.Duration  `yaml:"grace" default:"2s" doc:"Time for a program to exit after its round, or after SIGTERM, before it is killed."`
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

// check rejects a configuration that makes no sense.
func (c Config) check() error {
	if err := glob.CheckFile(c.EnvAllow); err != nil {
		return fmt.Errorf("worker.executors.env_allow %w", err)
	}
	if err := cmp.Or(config.CheckNotNegative(c), c.Limits.Check()); err != nil {
		return fmt.Errorf("worker.executors: %w", err)
	}
	return nil
}
