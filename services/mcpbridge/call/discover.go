package call

import (
	"context"
	"errors"

	"github.com/windlass-dev/windlass/services/mcpbridge/connection"
	"github.com/windlass-dev/windlass/services/mcpbridge/pool"
	"github.com/windlass-dev/windlass/services/mcpbridge/server"
	"github.com/windlass-dev/windlass/services/mcpbridge/wire"
)

// Discover connects if needed and lists a server's tools. Listing is safe to repeat, so one lost connection is retried. Errors are
// UNAVAILABLE.
func (r *Runner) Discover(ctx context.Context, sp *server.Spec) (*connection.Connection, []connection.Tool, error) {
	ctx, cancel := context.WithTimeout(ctx, sp.ConnectTimeout)
	defer cancel()
	for attempt := 0; ; attempt++ {
		u, err := r.pool.Get(sp)
		if err != nil {
			return nil, nil, wire.NotListed(sp, err)
		}
		c, err := u.Connection(ctx)
		if err == nil && !c.Begin() {
			err = pool.ErrRetired
		}
		if errors.Is(err, pool.ErrRetired) && attempt < maxAttempts {
			continue
		}
		if err != nil {
			return nil, nil, wire.NotListed(sp, err)
		}
		c.Listening(ctx)
		tools, err := c.ListTools(ctx)
		c.Finished()
		if err == nil {
			if c.Info().ListChanged && sp.User == nil { // with a user's token it could not reconnect by itself
				u.Keep()
			}
			return c, tools, nil
		}
		e := wire.AsError(err)
		if e.Lost() {
			u.Drop(c, e)
		}
		if !e.Lost() && c.Alive() || attempt > 0 || ctx.Err() != nil {
			return nil, nil, wire.NotListed(sp, err)
		}
	}
}
