// Package probe checks what a process needs, and serves the results: over HTTP as liveness and readiness, and to the gateway over gRPC.
package probe

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/windlass-dev/windlass/libs/fault"
)

// timeout bounds all checks of one round together. maxAge is how long their results are reused, so that frequent requests cost nothing.
const (
	timeout = 2 * time.Second
	maxAge  = time.Second
)

// Check returns an error if something that the process needs is not available. The message of a *fault.Error, and what it says to do, are
// shown to users; other errors are only logged.
type Check = func(context.Context) error

// State is the result of a check.
type State int

// States, the worst last.
const (
	OK State = iota
	// Degraded means that the process accepts calls, but that some of what they ask for waits or fails.
	Degraded
	// Failed means that the process cannot do its work.
	Failed
)

// String returns the state as /readyz spells it.
func (s State) String() string { return [...]string{"ok", "degraded", "not ready"}[s] }

// Result is the result of one check.
type Result struct {
	Name  string
	State State
	// Cause says what is wrong, Action what to do about it. Both are for users; Action may be empty.
	Cause, Action string
}

// degradation is the error of a check whose failure degrades the process only.
type degradation struct{ error }

func (d degradation) Unwrap() error { return d.error }

// Degrades returns a check that degrades the process when another one fails.
func Degrades(check Check) Check {
	return func(ctx context.Context) error {
		if err := check(ctx); err != nil {
			return degradation{err}
		}
		return nil
	}
}

// Checker runs checks, at most one round at a time and one in a second. It is safe for concurrent use.
type Checker struct {
	log    *slog.Logger
	checks func() map[string]Check

	running chan struct{} // holds a value during a round; guards what follows
	at      time.Time
	results []Result
}

// NewChecker returns a Checker. checks is called for each round.
func NewChecker(log *slog.Logger, checks func() map[string]Check) *Checker {
	return &Checker{log: log, checks: checks, running: make(chan struct{}, 1)}
}

// Results returns the results of all checks, by name.
func (c *Checker) Results(ctx context.Context) []Result {
	c.running <- struct{}{}
	defer func() { <-c.running }()
	if c.results == nil || time.Since(c.at) >= maxAge {
		c.results, c.at = c.round(ctx), time.Now()
	}
	return slices.Clone(c.results)
}

func (c *Checker) round(ctx context.Context) []Result {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), timeout)
	defer cancel()
	checks := c.checks()
	found := make(chan Result, len(checks))
	var wg sync.WaitGroup
	for name, check := range checks {
		wg.Go(func() { found <- c.run(ctx, name, check) })
	}
	wg.Wait()
	close(found)
	out := make([]Result, 0, len(checks))
	for r := range found {
		out = append(out, r)
	}
	sortByName(out)
	return out
}

func sortByName(results []Result) {
	slices.SortFunc(results, func(a, b Result) int { return cmp.Compare(a.Name, b.Name) })
}

func (c *Checker) run(ctx context.Context, name string, check Check) Result {
	err := check(ctx)
	if err == nil {
		return Result{Name: name}
	}
	r := Result{Name: name, State: Failed}
	if _, ok := errors.AsType[degradation](err); ok {
		r.State = Degraded
	}
	if e := fault.As(err); e != nil {
		r.Cause, r.Action = e.Message, e.Todo
	} else if errors.Is(err, context.DeadlineExceeded) {
		r.Cause = "does not answer within " + timeout.String()
	} else {
		r.Cause, r.Action = "does not work", "The cause is in the log of the process."
	}
	c.log.WarnContext(ctx, "check failed", "check", name, "state", r.State.String(), "error", err)
	return r
}

// Merge joins results of several processes, sorted by name. Of results with one name the worst stays.
func Merge(all ...[]Result) []Result {
	byName := map[string]Result{}
	for _, results := range all {
		for _, r := range results {
			if old, ok := byName[r.Name]; !ok || r.State > old.State {
				byName[r.Name] = r
			}
		}
	}
	out := make([]Result, 0, len(byName))
	for _, r := range byName {
		out = append(out, r)
	}
	sortByName(out)
	return out
}
