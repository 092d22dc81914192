package runner

import (
	"errors"
	"fmt"
	"time"

	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
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
	InferAttempts uint32 `yaml:"model_attempts" default:"5" doc:"Maximum attempts of a model call that fails with a transient error, before the turn fails."`
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

// check rejects a configuration that makes no sense.
func (c Config) check() error {
	switch {
	case c.Owner == "":
		return errors.New("step runner: Owner is required")
	case c.LeaseTTL < 100*time.Millisecond || c.LeaseTTL > time.Minute:
		return fmt.Errorf("step runner: lease ttl %v is not between 100ms and 1m", c.LeaseTTL)
	case c.ContextWindow < begin.MinWindow:
		return fmt.Errorf("step runner: a context window of %d tokens is less than %d", c.ContextWindow, begin.MinWindow)
	}
	return nil
}

// attempts is how often a step of a kind is tried while an error may pass.
func (c Config) attempts(kind turnv1.StepKind) uint32 {
	if kind == turnv1.StepKind_STEP_KIND_TOOL {
		return c.ToolAttempts
	}
	return c.InferAttempts
}
