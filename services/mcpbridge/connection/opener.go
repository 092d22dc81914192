package connection

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"time"

	"github.com/windlass-dev/windlass/services/mcpbridge/question"
	"github.com/windlass-dev/windlass/services/mcpbridge/server"
	"github.com/windlass-dev/windlass/services/mcpbridge/wire"
)

// Opener opens connections. All fields are required.
type Opener struct {
	// Dialer makes their transports.
	Dialer wire.Dialer
	// Probe bounds the check whether a server speaks the stateless protocol.
	Probe time.Duration
	// Background runs what need not be waited for; false means that it does not, as the bridge is stopping.
	Background func(func()) bool
	// Log receives what goes wrong on connections.
	Log *slog.Logger
}

// Open connects and makes the handshake, which ctx bounds. known is the server's last known era. changed is called when the tool list may
// have changed.
func (o *Opener) Open(ctx context.Context, sp *server.Spec, known Era, changed func()) (*Connection, error) {
	c, err := o.attempt(ctx, sp, known, changed)
	switch {
	case err == nil || ctx.Err() != nil:
		return c, err
	case known == UnknownEra && errors.Is(err, errEndedInProbe): // some servers of the old era exit on an unknown first message
		return o.attempt(ctx, sp, LegacyEra, changed)
	case known == LegacyEra && errors.Is(err, errNoInitialize): // it changed its era
		return o.attempt(ctx, sp, UnknownEra, changed)
	}
	return nil, err
}

func (o *Opener) attempt(ctx context.Context, sp *server.Spec, known Era, changed func()) (*Connection, error) {
	c := &Connection{
		spec: sp, wire: wire.NewSender(sp), log: o.Log, changed: changed, questions: question.NewRouter(),
		tokens: fmt.Sprintf("wl-%x-", rand.Uint64()), //nolint:gosec // a name, not a secret: only the server that gets it could use it
	}
	c.lifetime.init(ctx, c.shut)
	c.stream.init()
	transport, err := o.Dialer.Open(sp, wire.Events{Lost: c.Abort, Stream: c.standingStream})
	c.wire.Transport = transport
	close(c.wired) // a server that exits at once may already have been reported
	if err != nil {
		c.end()
		return nil, err
	}
	release := context.AfterFunc(ctx, c.end) // until the handshake is over, the caller's end ends the connection
	err = handshake{c}.run(ctx, known, o.Probe)
	if release() && err == nil {
		return c, nil
	}
	if err == nil {
		err = ctx.Err()
	}
	inProbe := errors.Is(err, errEndedInProbe)
	if err = wire.Explain(transport, err); inProbe && !errors.Is(err, errEndedInProbe) {
		err = fmt.Errorf("%w: %w", errEndedInProbe, err)
	}
	// A stubborn process takes time to end; the error does not wait for it.
	if !o.Background(c.Close) {
		c.Close()
	}
	return nil, err
}
