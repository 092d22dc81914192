package call

import (
	"context"
	"errors"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/windlass-dev/windlass/services/mcpbridge/pool"
	"github.com/windlass-dev/windlass/services/mcpbridge/server"
	"github.com/windlass-dev/windlass/services/mcpbridge/wire"
)

// Forward sends a request that may be repeated: on a new connection if the server has lost the session.
func (r *Runner) Forward(ctx context.Context, sp *server.Spec, method mcp.MCPMethod, params map[string]any) (*wire.Answer, error) {
	ctx, cancel := context.WithTimeout(ctx, sp.CallTimeout)
	defer cancel()
	for attempt := 0; ; attempt++ {
		u, err := r.pool.Get(sp)
		if err != nil {
			return nil, wire.Unavailable(sp, err)
		}
		if err := u.Enter(ctx); err != nil {
			return nil, err
		}
		a, err := forwardOn(ctx, u, method, params)
		u.Leave()
		if err == nil {
			return a, nil
		}
		if attempt > 0 || ctx.Err() != nil || !errors.Is(err, pool.ErrRetired) && wire.AsError(err).Fate == wire.UnknownFate {
			return nil, wire.Unavailable(sp, err)
		}
	}
}

// forwardOn sends the request on one upstream. A connection without its session is dropped.
func forwardOn(ctx context.Context, u *pool.Upstream, method mcp.MCPMethod, params map[string]any) (*wire.Answer, error) {
	c, err := u.Connection(ctx)
	if err != nil {
		return nil, err
	}
	if !c.Begin() {
		return nil, pool.ErrRetired
	}
	defer c.Finished()
	a, err := c.Ask(ctx, method, params)
	if err == nil {
		return a, nil
	}
	if e := wire.AsError(err); e.Lost() {
		u.Drop(c, e)
	}
	return nil, err
}
