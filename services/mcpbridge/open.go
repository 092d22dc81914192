package mcpbridge

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"time"

	"github.com/windlass-dev/windlass/libs/egress"
	"github.com/windlass-dev/windlass/libs/process"
)

// opener holds what is needed to open connections.
type opener struct {
	egress     *egress.Egress
	log        *slog.Logger
	programs   *process.Programs
	limits     process.Limits
	probe      time.Duration
	background func(func()) bool
}

// open connects and makes the handshake, which ctx bounds. known is the server's last known era.
func (o *opener) open(ctx context.Context, sp *spec, known era, changed func()) (*connection, error) {
	c, err := o.attempt(ctx, sp, known, changed)
	switch {
	case err == nil || ctx.Err() != nil:
		return c, err
	case known == unknownEra && errors.Is(err, errEndedInProbe): // some servers of the old era exit on an unknown first message
		return o.attempt(ctx, sp, legacyEra, changed)
	case known == legacyEra && errors.Is(err, errNoInitialize): // it changed its era
		return o.attempt(ctx, sp, unknownEra, changed)
	}
	return nil, err
}

func (o *opener) attempt(ctx context.Context, sp *spec, known era, changed func()) (*connection, error) {
	c := &connection{sender: sender{spec: sp, log: o.log}, changed: changed}
	c.tokens = fmt.Sprintf("wl-%x-", rand.Uint64()) //nolint:gosec // a name, not a secret: only the server that gets it could use it
	c.lifetime.init(ctx, c.shut)
	// Ids are random enough not to collide with those of other clients: a stateless server may have nothing else to tell requests apart.
	c.nextID.Store(rand.Int64N(1<<30) + 1<<20) //nolint:gosec // a number, not a secret
	c.progress.init()
	c.stream.init()
	c.questions.init()
	var err error
	switch sp.kind {
	case overStdio:
		var w *stdioWire
		if w, err = o.newStdioWire(sp, c.abort); err == nil {
			c.wire = w
		}
	case overSSE:
		c.wire, err = newSSEWire(sp, o.egress, c.abort)
	default:
		c.wire, err = newHTTPWire(sp, o.egress, c.standingStream)
	}
	close(c.wired) // a server that exits at once may already have been reported
	if err != nil {
		c.end()
		return nil, err
	}
	release := context.AfterFunc(ctx, c.end) // until the handshake is over, the caller's end ends the connection
	err = c.handshake(ctx, known, o.probe)
	if release() && err == nil {
		return c, nil
	}
	if err == nil {
		err = ctx.Err()
	}
	if w, ok := c.wire.(*stdioWire); ok {
		err = w.explain(err)
	}
	// A stubborn process takes time to end; the error does not wait for it.
	if !o.background(c.close) {
		c.close()
	}
	return nil, err
}
