package assembly

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/windlass-dev/windlass/libs/lifecycle"
	"github.com/windlass-dev/windlass/libs/probe"
)

// addAdmin serves health, readiness and metrics at mesh.metrics for a process without a gateway, which serves its own.
func (p *Process) addAdmin(parts []component) {
	if p.cfg.Mesh.Metrics == "" {
		return
	}
	for _, c := range parts {
		if c.role == Gateway {
			return
		}
	}
	mux := http.NewServeMux()
	mux.Handle("GET /healthz", probe.Live())
	mux.Handle("GET /readyz", probe.Ready(p.checker.Results))
	if p.opts.Metrics != nil {
		mux.Handle("GET /metrics", p.opts.Metrics)
	}
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second}
	var done chan error
	p.group.Add(lifecycle.Component{
		Name: "admin",
		Start: func(context.Context) error {
			l, err := net.Listen("tcp", p.cfg.Mesh.Metrics)
			if err != nil {
				return fmt.Errorf("cannot listen on mesh.metrics %s (is another process using the port?): %w", p.cfg.Mesh.Metrics, err)
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
