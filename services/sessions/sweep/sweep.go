// Package sweep works off rows of a table that are due. Each row has its own time of the next attempt, so that one that fails now
// is out of the way of the others.
package sweep

import (
	"context"
	"errors"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/windlass-dev/windlass/libs/backoff"
	"github.com/windlass-dev/windlass/libs/stack"
)

const (
	// batch is how many rows are read at once, and parallel how many are done at the same time.
	batch    = 32
	parallel = 8
	// rounds bounds the batches of one sweep.
	rounds = 100
)

// Backoff is the pause after so many attempts: one second, doubled with each one up to five minutes, a fifth more or less at random.
func Backoff(attempts int64) time.Duration {
	return backoff.Policy{First: time.Second, Max: 5 * time.Minute, Jitter: 0.2}.After(int(attempts))
}

// ErrStop has a sweep end after the rows at hand: what the other rows need is not there either.
var ErrStop = errors.New("nothing can be done now")

// Due does all rows that list gives, until it gives no more. do does one row and sees to it that list gives it again only when it
// is due again, also after an error of the row; the error that it returns is about more than this row, and ends the sweep once
// the rows at hand are done.
func Due[T any](ctx context.Context, list func(context.Context, int) ([]T, error), do func(context.Context, T) error) error {
	for range rounds {
		rows, err := list(ctx, batch)
		if err != nil {
			return err
		}
		var group errgroup.Group
		group.SetLimit(parallel)
		for _, row := range rows {
			group.Go(func() error {
				stack.GrowDeep()
				return do(ctx, row)
			})
		}
		switch err := group.Wait(); {
		case errors.Is(err, ErrStop):
			return nil
		case err != nil:
			return err
		case len(rows) < batch:
			return nil
		}
	}
	return nil
}

// ByNow returns a list for Due of what is due by the clock's time.
func ByNow[T any](
	clock interface{ Now() time.Time }, list func(ctx context.Context, now time.Time, limit int) ([]T, error),
) func(context.Context, int) ([]T, error) {
	return func(ctx context.Context, limit int) ([]T, error) { return list(ctx, clock.Now(), limit) }
}
