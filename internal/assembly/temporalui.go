package assembly

import (
	"context"
	"fmt"
	"net"

	"github.com/windlass-dev/windlass/gateway"
	"github.com/windlass-dev/windlass/libs/lifecycle"
	"github.com/windlass-dev/windlass/libs/rpc"
)

// reachTemporalUI tells the gateway where the UI of Temporal is, and how to reach the one that it serves, if it does.
func reachTemporalUI(c TemporalConfig, cfg *gateway.Config, deps *gateway.Deps) error {
	cfg.TemporalUI, cfg.TemporalNamespace = c.UI, c.Namespace
	if err := c.UIProxy.check(); err != nil || c.UIProxy.Target == "" {
		return err
	}
	secure, err := c.clientTLS()
	if err != nil {
		return err
	}
	cfg.TemporalTarget, deps.TemporalUI = c.UIProxy.Target, rpc.HTTPTransport(secure)
	return nil
}

// serveTemporalUI serves the UI of Temporal, if the gateway has it.
func (p *Process) serveTemporalUI(g *gateway.Gateway) {
	if p.cfg.Temporal.UIProxy.Target == "" {
		return
	}
	done, addr := make(chan error, 1), p.cfg.Temporal.UIProxy.Addr
	p.group.Add(lifecycle.Component{
		Name: "temporal ui",
		Start: func(ctx context.Context) error {
			l := p.opts.TemporalUI
			if l == nil {
				var err error
				if l, err = (&net.ListenConfig{}).Listen(ctx, "tcp", addr); err != nil {
					return fmt.Errorf("cannot listen on temporal.ui_proxy.addr %s (is another process using the port?): %w", addr, err)
				}
			}
			go func() { done <- g.ServeTemporalUI(l) }()
			return nil
		},
		Wait: func() error { return <-done },
		Stop: g.StopTemporalUI,
	})
}
