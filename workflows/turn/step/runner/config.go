package runner

import (
	"errors"
	"fmt"
	"time"

	"github.com/windlass-dev/windlass/libs/money"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/workflows/turn/step"
	"github.com/windlass-dev/windlass/workflows/turn/step/begin"
)

// Config says how patient a runner is. Zero stands for the default.
type Config struct {
	// Owner names this worker in leases; unique for each process. Required.
	Owner string `yaml:"-"`
	// LeaseTTL is 100 ms to 60 s. Leases are renewed three times as often.
	LeaseTTL time.Duration `yaml:"lease_ttl" default:"2s" doc:"How long a step stays leased to a worker that sends no heartbeat."`
	Coalesce time.Duration `yaml:"coalesce" default:"25ms" doc:"How long a model's text is collected before it is sent to watchers; the first piece is sent at once."`
	// ExecutingAfter is how long a tool call runs before the journal says so; a shorter one is journaled with its result.
	ExecutingAfter time.Duration `yaml:"-" default:"50ms"`
	// InferAttempts bounds the attempts of the begin step too.
	InferAttempts uint32        `yaml:"model_attempts" default:"5" doc:"Maximum attempts of a model call over all its targets and keys, before the turn fails."`
	ModelTime     time.Duration `yaml:"model_time" doc:"Maximum time of one model call over all its attempts. 0: as long as the turn may take."`
	ModelCost     money.Micros  `yaml:"model_cost" doc:"Maximum cost of one model call over all its attempts, in the mesh's currency, for example 0.50: when failed attempts have cost that much, no further one is made. 0: no limit."`
	// ToolAttempts bounds the attempts to reach the registry for a tool step. It does not bound the tool's own retries,
	// which the registry decides by effect class.
	ToolAttempts uint32 `yaml:"-" default:"10"`
	// MaxAttempts bounds the attempts of a step that never ends, for example because it kills its worker.
	MaxAttempts uint32 `yaml:"-" default:"20"`
	// CommitPatience is how long a finished step tries to be written when sessions is away.
	CommitPatience time.Duration `yaml:"-" default:"15s"`
	ContextWindow  int32         `yaml:"context_window" default:"128000" doc:"Context window in tokens to assume for a model if neither inference.models nor its family defines it."`
	MaxShownTools  int           `yaml:"max_shown_tools" default:"64" doc:"Number of tools up to which a model is shown all tools of its agent. With more, it finds them with find_tools and calls them with call_tool."`
}

// maxModelAttempts is how many attempts a model call takes.
const maxModelAttempts = 256

// check rejects a configuration that makes no sense.
func (c Config) check() error {
	switch {
	case c.Owner == "":
		return errors.New("step runner: Owner is required")
	case c.LeaseTTL < 100*time.Millisecond || c.LeaseTTL > time.Minute:
		return fmt.Errorf("step runner: lease ttl %v is not between 100ms and 1m", c.LeaseTTL)
	case c.InferAttempts > maxModelAttempts:
		return fmt.Errorf("step runner: model_attempts %d is more than %d", c.InferAttempts, maxModelAttempts)
	case c.ModelTime < 0:
		return errors.New("step runner: model_time must not be negative")
	case c.ContextWindow < begin.MinWindow:
		return fmt.Errorf("step runner: a context window of %d tokens is less than %d", c.ContextWindow, begin.MinWindow)
	}
	return nil
}

// callBudget is the budget of one model call.
func (c Config) callBudget() step.CallBudget {
	return step.CallBudget{Attempts: c.InferAttempts, Time: c.ModelTime, Cost: int64(c.ModelCost)}
}

// attempts is how often a step of a kind is tried while an error may pass.
func (c Config) attempts(kind turnv1.StepKind) uint32 {
	if kind == turnv1.StepKind_STEP_KIND_TOOL {
		return c.ToolAttempts
	}
	return c.InferAttempts
}
