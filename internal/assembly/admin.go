package assembly

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"time"

	"github.com/windlass-dev/windlass/gateway/ops"
	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/hostname"
	"github.com/windlass-dev/windlass/libs/lifecycle"
	"github.com/windlass-dev/windlass/libs/peercred"
	policyv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policy/v1"
)

// names returns the host names of this process.
func (c MeshConfig) names() (hostname.Names, error) {
	list := slices.Clone(c.Hosts)
	for role, target := range c.Targets {
		list = append(append(list, role), hostname.OfTarget(target)...)
	}
	n, err := hostname.New(list...)
	if err != nil {
		return n, fmt.Errorf("mesh.hosts or mesh.targets: %w", err)
	}
	return n, nil
}

// addAdmin serves health, readiness and metrics at mesh.metrics for a process without a gateway, which serves its own, and metrics alone at
// telemetry.metrics.addr.
func (p *Process) addAdmin(parts []component, names hostname.Names) {
	all := ops.New(ops.Deps{
		Authenticate: func(r *http.Request) (*policyv1.Principal, error) {
			if err := http.NewCrossOriginProtection().Check(r); err != nil {
				return nil, err
			}
			return p.authenticator.Authenticate(r.Context(), authn.Credentials{
				Authorization: r.Header.Values("Authorization"), Peer: authn.PeerOf(r),
			})
		},
		Authorizer: p.authorizer, Results: p.checker.Results, Metrics: p.opts.Metrics, Scrape: p.cfg.Telemetry.Metrics, Log: p.log,
	})
	if !slices.ContainsFunc(parts, func(c component) bool { return c.role == Gateway }) {
		addHTTP(&p.group, "admin", "mesh.metrics", p.cfg.Mesh.Metrics, ops.Guard(names, "mesh.hosts", all))
	}
	if p.opts.Metrics != nil {
		alone := http.NewServeMux()
		alone.Handle("GET /metrics", p.opts.Metrics)
		addHTTP(&p.group, "metrics", "telemetry.metrics.addr", p.cfg.Telemetry.Metrics.Addr, ops.Guard(names, "mesh.hosts", alone))
	}
}

// addHTTP serves a handler at an address, unless that is empty.
func addHTTP(group *lifecycle.Group, name, setting, addr string, h http.Handler) {
	if addr == "" {
		return
	}
	server := &http.Server{Handler: h, ReadHeaderTimeout: 5 * time.Second, ConnContext: peercred.ConnContext}
	var done chan error
	group.Add(lifecycle.Component{
		Name: name,
		Start: func(context.Context) error {
			l, err := net.Listen("tcp", addr)
			if err != nil {
				return fmt.Errorf("cannot listen on %s %s (is another process using the port?): %w", setting, addr, err)
			}
			done = make(chan error, 1)
			go func() {
				err := server.Serve(l)
				if errors.Is(err, http.ErrServerClosed) {
					err = nil
				}
				done <- err
			}()
			return nil
		},
		Wait: func() error { return <-done },
		Stop: server.Shutdown,
	})
}
