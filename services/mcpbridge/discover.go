package mcpbridge

import (
	"context"
	"errors"
)

// discover connects if needed and lists a server's tools. Listing is safe to repeat, so one lost connection is retried. Errors are
// UNAVAILABLE.
func (s *Service) discover(ctx context.Context, sp *spec) (*connection, []tool, error) {
	ctx, cancel := context.WithTimeout(ctx, sp.connectTimeout)
	defer cancel()
	for attempt := 0; ; attempt++ {
		u, err := s.pool.get(sp)
		if err != nil {
			return nil, nil, unavailable(sp, err)
		}
		c, err := u.connection(ctx)
		if err == nil && !c.begin() {
			err = errRetired
		}
		if errors.Is(err, errRetired) && attempt < maxAttempts {
			continue
		}
		if err != nil {
			return nil, nil, unavailable(sp, err)
		}
		c.listening(ctx)
		tools, err := c.listTools(ctx)
		c.finished()
		if err == nil {
			if c.server.listChanged && sp.user == nil { // with a user's token it could not reconnect by itself
				u.want()
			}
			return c, tools, nil
		}
		e := asSendError(err)
		gone := e.fate == sessionLost || e.stale
		if gone {
			u.drop(c, e)
		}
		if !gone && c.alive() || attempt > 0 || ctx.Err() != nil {
			return nil, nil, unavailable(sp, err)
		}
	}
}

// maxAttempts is how often a connection that was replaced concurrently is looked up again.
const maxAttempts = 5
