package runner

import (
	"fmt"
	"time"

	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/workflows/turn/step/begin"
)

// Config says how patient a runner is. The zero value of a field stands for its default.
type Config struct {
	// Owner names this worker in leases; unique for each process. Required.
	Owner string
	// LeaseTTL is how long a lease holds without renewal, 100 ms to 60 s; default 2 s. It is renewed three times as often.
	LeaseTTL time.Duration
	// Coalesce is how long deltas are collected before they are published; the first is published at once. Default 25 ms.
	Coalesce time.Duration
	// ExecutingAfter is how long a tool call runs before the journal says so; a shorter one is journaled with its result.
	// Default 50 ms.
	ExecutingAfter time.Duration
	// InferAttempts bounds the attempts of a model step, and of the begin step; default 5.
	InferAttempts uint32
	// ToolAttempts bounds the attempts to reach the registry for a tool step; default 10. It does not bound the tool's own
	// retries, which the registry decides by effect class.
	ToolAttempts uint32
	// MaxAttempts bounds the attempts of a step that never ends, for example because it kills its worker; default 20.
	MaxAttempts uint32
	// CommitPatience is how long a finished step tries to be written when sessions is away; default 15 s.
	CommitPatience time.Duration
	// ContextWindow is what a model is taken to read and write, in tokens, when neither agent nor provider says; default 128,000.
	ContextWindow int32
	// MaxShownTools is the number of tools of sources up to which a model is shown all of a turn; default 64. Of more it is shown how to find
	// and call them.
	MaxShownTools int
}

func (c Config) withDefaults() (Config, error) {
	if c.Owner == "" {
		return c, fmt.Errorf("step runner: Owner is required")
	}
	set(&c.LeaseTTL, 2*time.Second)
	set(&c.Coalesce, 25*time.Millisecond)
	set(&c.ExecutingAfter, 50*time.Millisecond)
	set(&c.InferAttempts, 5)
	set(&c.ToolAttempts, 10)
	set(&c.MaxAttempts, 20)
	set(&c.CommitPatience, 15*time.Second)
	set(&c.ContextWindow, 128_000)
	set(&c.MaxShownTools, 64)
	if c.LeaseTTL < 100*time.Millisecond || c.LeaseTTL > time.Minute {
		return c, fmt.Errorf("step runner: lease ttl %v is not between 100ms and 1m", c.LeaseTTL)
	}
	if c.ContextWindow < begin.MinWindow {
		return c, fmt.Errorf("step runner: a context window of %d tokens is less than %d", c.ContextWindow, begin.MinWindow)
	}
	return c, nil
}

// attempts is how often a step of a kind is tried while an error may pass.
func (c Config) attempts(kind turnv1.StepKind) uint32 {
	if kind == turnv1.StepKind_STEP_KIND_TOOL {
		return c.ToolAttempts
	}
	return c.InferAttempts
}

func set[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}
