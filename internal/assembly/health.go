package assembly

import (
	"context"

	"github.com/windlass-dev/windlass/libs/fault"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	"github.com/windlass-dev/windlass/workflows/temporal"
)

func (p *Process) checkTemporal(ctx context.Context) error {
	if err := temporal.Check(ctx, p.temporal); err != nil {
		return fault.Unavailable(faultv1.Reason_REASON_UNAVAILABLE, "Temporal does not answer at %s", p.cfg.Temporal.Address).
			Hint("Turns wait until it is back. 'windlass up' restarts its own; else check temporal.address, temporal.tls and the server's log.").
			Cause(err)
	}
	return nil
}

func (p *Process) checkBus(context.Context) error {
	if !p.bus.Connected() {
		return fault.Unavailable(faultv1.Reason_REASON_UNAVAILABLE, "the bus does not answer").
			Hint("Streams are slower without it, and nothing is lost. Check bus.url and the bus's log.")
	}
	return nil
}
