// Package step says what a step of a turn is: the work, its kinds, and how it ends. Each kind has a package below this one: begin,
// infer, plan, compact, tool. Package runner does steps of all kinds.
package step

import (
	"cmp"
	"context"
	"time"

	executionv1 "github.com/windlass-dev/windlass/proto/gen/windlass/execution/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/workflows/contract"
)

// The messages of the journal that steps are made of.
type (
	// Loaded is a turn: its agent, and from the begin step on its surface and tools.
	Loaded = executionv1.LoadTurnResponse
	// History is the conversation that a turn reads.
	History = executionv1.GetContextResponse
	// Lease is the right to do a step, for some time.
	Lease = executionv1.Lease
	// Commit is what a step writes.
	Commit = executionv1.CommitStepRequest
)

// Kind is one kind of step.
type Kind interface {
	// Prepare reads what the claim announces and returns what does the step. It runs before each claim, and also for a step that turns out
	// to be done.
	Prepare(ctx context.Context, w *Work) (Action, error)
}

// Action does one step.
type Action interface {
	// Do does the step and returns what to commit. It is called under the lease. Its context ends with one of the causes of this package.
	Do(ctx context.Context) (*Commit, error)
	// GiveUp returns what to commit when the step has failed for good, or, with a nil reason, when the turn was cancelled before the step
	// had a result.
	GiveUp(why *turnv1.TurnError) *Commit
}

// Opener is an action that can begin while the claim of its step is on its way: with what may be repeated and is not visible yet.
type Opener interface {
	Action
	// Open begins it and returns at once. Do continues what was begun; the function that is returned drops that if Do did not.
	Open(ctx context.Context) (drop func())
}

// Work is one step while it runs.
type Work struct {
	// Turn and Ref name the step.
	Turn contract.TurnInput
	Ref  *turnv1.StepRef
	// Loaded is the turn as it was when it had begun; Prepare sets it where the runner does not have it. The begin step may have none.
	Loaded *Loaded
	// Memory is what the runner knows of the conversation, nil when it does this step only.
	Memory Memory
	// Announced is the call that the claim of a tool step announces; Prepare sets it.
	Announced *turnv1.ToolCallStarted
	// Started, Lease and Cancelled are set by the claim. Do sets Cancelled too when a cancel cuts the step off.
	Started   time.Time
	Lease     *Lease
	Cancelled bool
	// Attempts are those of the step's model calls.
	Attempts Attempts
}

// Memory keeps the conversation of a turn while one runner does its steps one after the other.
type Memory interface {
	// Recall returns what a model step reads, nil if the journal must be asked.
	Recall(infer string) *History
	// Keep takes what the journal returned for a model step.
	Keep(infer string, read *History)
}

// Deadline is when the turn must end, zero before it has begun.
func (w *Work) Deadline() time.Time {
	if micros := cmp.Or(w.Ref.GetDeadlineMicros(), w.Loaded.GetSurface().GetDeadlineMicros()); micros > 0 {
		return time.UnixMicro(micros)
	}
	return time.Time{}
}

// Strategy is how the step's turn is decided: as the select step chose, else as the surface says.
func (w *Work) Strategy() turnv1.Strategy {
	return cmp.Or(w.Ref.GetStrategy(), w.Loaded.GetSurface().GetStrategy())
}

// StrategySelected is the event of a strategy that was selected.
func StrategySelected(strategy turnv1.Strategy, reason string) *turnv1.Event {
	return &turnv1.Event{Data: &turnv1.Event_StrategySelected{StrategySelected: &turnv1.StrategySelected{Strategy: strategy, Reason: reason}}}
}
