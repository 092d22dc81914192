// Package call runs requests on the connections of the pool, and repeats those that may be repeated.
package call

import (
	"context"
	"errors"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/services/mcpbridge/connection"
	"github.com/windlass-dev/windlass/services/mcpbridge/pool"
	"github.com/windlass-dev/windlass/services/mcpbridge/server"
	"github.com/windlass-dev/windlass/services/mcpbridge/wire"
)

// Runner runs requests.
type Runner struct{ pool *pool.Pool }

// New returns a runner on a pool.
func New(p *pool.Pool) *Runner { return &Runner{pool: p} }

// maxAttempts is how often a connection that was replaced concurrently is looked up again.
const maxAttempts = 5

// Tool waits for a slot, connects if needed and runs a tool call, all within the call's time. The result is the server's answer, including
// its refusals. Errors are UNAVAILABLE if the call certainly did not run, a *wire.Error if the answer was too large to read, and
// ABORTED/OUTCOME_UNKNOWN otherwise.
func (r *Runner) Tool(ctx context.Context, sp *server.Spec, in connection.Call) (*connection.Answer, error) {
	ctx, cancel := context.WithTimeout(ctx, sp.CallTimeout)
	defer cancel()
	var refused error
	for attempt := 0; ; attempt++ {
		u, err := r.pool.Get(sp)
		if err != nil {
			return nil, doubted(sp, in.Tool, wire.NotCalled(sp, err), refused)
		}
		a, err := runOn(ctx, u, sp, in, &refused)
		switch {
		case err == nil:
			return a, nil
		case errors.Is(err, pool.ErrRetired) && attempt < maxAttempts:
			continue
		}
		if f := fault.As(err); f != nil {
			return nil, f
		}
		e := wire.AsError(err)
		if e.TooLarge { // it answered
			return nil, e
		}
		if e.Fate != wire.Unsent {
			return nil, wire.OutcomeUnknown(sp, in.Tool, err)
		}
		return nil, doubted(sp, in.Tool, wire.NotCalled(sp, err), refused)
	}
}

// runOn runs the call on one upstream. If it did not reach the server, or the server lost the session, it is sent once more on a new
// connection; refused records the latter, across upstreams too: a call is refused that way only once.
func runOn(ctx context.Context, u *pool.Upstream, sp *server.Spec, in connection.Call, refused *error) (*connection.Answer, error) {
	if err := u.Enter(ctx); err != nil {
		return nil, doubted(sp, in.Tool, err, *refused)
	}
	defer u.Leave()
	for attempt := 0; ; attempt++ {
		c, err := u.Connection(ctx)
		if err == nil && !c.Begin() {
			err = pool.ErrRetired
		}
		if errors.Is(err, pool.ErrRetired) {
			return nil, pool.ErrRetired
		}
		if err != nil { // whatever happened to the connection, the call was not sent
			return nil, doubted(sp, in.Tool, wire.NotCalled(sp, err), *refused)
		}
		c.Conceal(sp)
		c.LearnHeaders(ctx)
		a, err := c.CallTool(ctx, in)
		settled, again := prepareRetry(ctx, u, c, a, err, refused)
		c.Finished()
		switch {
		case again && attempt == 0:
			continue
		case settled != nil:
			return &connection.Answer{Answer: *settled}, nil
		}
		if err != nil && wire.AsError(err).Fate == wire.Unsent {
			return nil, doubted(sp, in.Tool, err, *refused)
		}
		return a, err
	}
}

// doubted returns the error of a call that was not sent: if a server has refused it before, that server may still have acted.
func doubted(sp *server.Spec, tool string, err, refused error) error {
	if refused == nil {
		return err
	}
	return wire.OutcomeUnknown(sp, tool, refused)
}

// prepareRetry prepares a retry of the call, and reports whether it may be sent again. settled is the answer of a call that was refused as
// in a lost session by a server that still knows the session.
func prepareRetry(ctx context.Context, u *pool.Upstream, c *connection.Connection, a *connection.Answer, err error, refused *error,
) (settled *wire.Answer, again bool) {
	if err == nil {
		switch {
		case a.Failure == nil:
		case a.Failure.Code == mcp.HEADER_MISMATCH:
			c.ForgetHeaders()
		case a.Failure.Code == mcp.UNSUPPORTED_PROTOCOL_VERSION:
			u.Drop(c, wire.WrongRevision())
		}
		return nil, false
	}
	e := wire.AsError(err)
	switch {
	case e.Stale:
		u.Drop(c, e)
		return nil, e.Fate == wire.Unsent
	case e.Fate == wire.SessionLost:
		lost := c.Ping(ctx)
		if lost != nil && lost.Lost() {
			u.Drop(c, e)
		}
		switch {
		case lost == nil:
			return e.Answer, false
		case lost.Fate != wire.SessionLost || *refused != nil:
			return nil, false
		}
		*refused = err
		return nil, true
	case e.Fate == wire.Unsent && ctx.Err() == nil && e.NotWritten():
		c.Abort(err)
		return nil, true
	}
	return nil, false
}
