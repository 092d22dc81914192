package mcpbridge

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"time"

	"github.com/windlass-dev/windlass/libs/egress"
)

// opener is what connections are opened with.
type opener struct {
	egress      *egress.Egress
	log         *slog.Logger
	commandPath []string
	probe       time.Duration
	background  func(func()) bool
}

// open connects and shakes hands. ctx bounds only that. known is the era the server had last time.
func (o *opener) open(ctx context.Context, sp *spec, known era, changed func()) (*connection, error) {
	c, err := o.attempt(ctx, sp, known, changed)
	switch {
	case err == nil || ctx.Err() != nil:
		return c, err
	case known == unknownEra && errors.Is(err, errEndedInProbe): // some of the old era end when the first message is not theirs
		return o.attempt(ctx, sp, legacyEra, changed)
	case known == legacyEra && errors.Is(err, errNoInitialize): // it changed its era
		return o.attempt(ctx, sp, unknownEra, changed)
	}
	return nil, err
}

func (o *opener) attempt(ctx context.Context, sp *spec, known era, changed func()) (*connection, error) {
	c := &connection{
		spec: sp, log: o.log, changed: changed, done: make(chan struct{}), drained: make(chan struct{}), wired: make(chan struct{}), used: time.Now(),
		tokens: fmt.Sprintf("wl-%x-", rand.Uint64()),
	}
	c.life, c.end = context.WithCancel(context.WithoutCancel(ctx))
	// Ids are unlikely to meet those of other clients: a stateless server may tell requests apart by nothing else.
	c.nextID.Store(rand.Int64N(1<<30) + 1<<20)
	c.progress.init()
	c.stream.init()
	c.questions.init()
	var err error
	switch sp.kind {
	case overStdio:
		var w *stdioWire
		if w, err = newStdioWire(sp, o.commandPath, o.log, c.lose); err == nil {
			c.wire = w
		}
	case overSSE:
		c.wire, err = newSSEWire(sp, o.egress, c.lose)
	default:
		c.wire, err = newHTTPWire(sp, o.egress, c.standingStream)
	}
	close(c.wired) // a server that ends at once has told so before it was known here
	if err != nil {
		c.end()
		return nil, err
	}
	release := context.AfterFunc(ctx, c.end) // until the handshake is over, the caller's end is the connection's
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
	// A stubborn process takes its time to end; the error does not wait for it.
	if !o.background(c.close) {
		c.close()
	}
	return nil, err
}
