package assembly

import (
	"context"
	"fmt"

	"github.com/windlass-dev/windlass/libs/bus"
	"github.com/windlass-dev/windlass/workflows/contract"
)

// changesWaiting is the number of changes of access policies that may wait to be applied.
const changesWaiting = 64

// watchPolicies has the process's authorizer forget permissions when access policies change, until ctx ends.
func (p *Process) watchPolicies(ctx context.Context) error {
	for {
		sub, err := p.bus.Subscribe(contract.AllPolicyChanges, changesWaiting)
		if err != nil {
			return fmt.Errorf("watch access policies: %w", err)
		}
		p.forgetUntil(ctx, sub)
		if ctx.Err() != nil {
			return nil //nolint:nilerr // this is how it ends
		}
	}
}

// forgetUntil forgets permissions until the subscription or ctx ends. What was missed before may concern any tenant.
func (p *Process) forgetUntil(ctx context.Context, sub *bus.Subscription) {
	defer sub.Close()
	p.authorizer.target.Forget("")
	for {
		select {
		case m, ok := <-sub.C():
			if !ok {
				return
			}
			p.authorizer.target.Forget(string(m.Data))
		case <-ctx.Done():
			return
		}
	}
}
