package assembly

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/windlass-dev/windlass/libs/lifecycle"
)

// background returns a component for a loop that runs until its context ends.
func background(name string, run func(context.Context) error) lifecycle.Component {
	var (
		cancel context.CancelFunc
		done   chan struct{}
		once   sync.Once
		result error
	)
	return lifecycle.Component{
		Name: name,
		Start: func(ctx context.Context) error {
			ctx, cancel = context.WithCancel(context.WithoutCancel(ctx)) //nolint:gosec // Stop calls it
			done = make(chan struct{})
			go func() {
				defer close(done)
				if err := run(ctx); err != nil && !errors.Is(err, context.Canceled) {
					once.Do(func() { result = err })
				}
			}()
			return nil
		},
		Wait: func() error { <-done; return result },
		Stop: func(ctx context.Context) error {
			cancel()
			select {
			case <-done:
				return nil
			case <-ctx.Done():
				return fmt.Errorf("%s does not stop: %w", name, ctx.Err())
			}
		},
	}
}
