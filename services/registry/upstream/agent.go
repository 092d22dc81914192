package upstream

import (
	"context"
	"errors"

	"google.golang.org/grpc/codes"

	"github.com/windlass-dev/windlass/libs/fault"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	"github.com/windlass-dev/windlass/services/registry/agents"
	"github.com/windlass-dev/windlass/services/registry/store"
)

// discoverAgents makes tools of agents.
func (u *Upstream) discoverAgents(ctx context.Context, s store.Source) (store.Inventory, error) {
	ctx, cancel := context.WithTimeout(ctx, u.cfg.DiscoverTimeout)
	defer cancel()
	inv, err := u.agents.Discover(ctx, s)
	if err != nil {
		return store.Inventory{}, unreachable(s, err)
	}
	u.breakers.reached(s.ID)
	return inv, nil
}

// callAgent starts a turn of an agent and waits for its answer.
func callAgent(ctx context.Context, u *Upstream, r Request) (Reply, error) {
	if r.Meta["windlass/turn_id"] != "" { // it would be neither cancelled nor limited with the turn
		return Reply{}, &Error{Kind: NotSent, Fault: fault.New(codes.FailedPrecondition, faultv1.Reason_REASON_FAILED_PRECONDITION,
			"a turn calls an agent in a child session, not through the registry")}
	}
	result, err := u.agents.Call(ctx, agents.Call{
		Agent: r.Tool, Args: r.Arguments, Principal: r.By.Principal, Key: r.Meta["windlass/idempotency_key"], Timeout: u.CallTimeout(r.Source),
	})
	if err == nil {
		return Reply{Result: result}, nil
	}
	kind := InDoubt
	if failure, ok := errors.AsType[*agents.Error](err); ok && !failure.Sent {
		kind = NotSent
	}
	return Reply{}, &Error{Kind: kind, Fault: fault.From(err)}
}
