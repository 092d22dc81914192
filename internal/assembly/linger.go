package assembly

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/windlass-dev/windlass/libs/fault"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
)

// linger reports that the process is not ready, and serves on for mesh.lame_duck: who balances calls over several processes learns of the
// stop from a probe, before a connection is refused.
func (p *Process) linger(ctx context.Context) {
	callable := func(role string) bool { return role != Worker && role != Bus }
	if p.cfg.Mesh.LameDuck <= 0 || !slices.ContainsFunc(p.opts.Roles, callable) {
		return
	}
	p.stopping.Store(true)
	p.server.SetServing(false)
	p.log.InfoContext(ctx, "asked to stop: not ready, still serving", "lame_duck", p.cfg.Mesh.LameDuck)
	timer := time.NewTimer(p.cfg.Mesh.LameDuck)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// checkStopping is the check of readiness that fails from the request to stop on.
func (p *Process) checkStopping(context.Context) error {
	if p.stopping.Load() {
		return fault.Unavailable(faultv1.Reason_REASON_UNAVAILABLE, "this process is stopping").Cause(errors.New("it was asked to stop"))
	}
	return nil
}
