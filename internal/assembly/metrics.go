package assembly

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/windlass-dev/windlass/libs/memlimit"
	"github.com/windlass-dev/windlass/libs/meshtls"
	"github.com/windlass-dev/windlass/libs/metrics"
	"github.com/windlass-dev/windlass/libs/rpc"
)

// processMetrics are those of the parts that all roles share.
var processMetrics = metrics.Rows{
	metrics.DatabaseConns, metrics.DatabaseWaits, metrics.DatabaseWaited, metrics.BusConnected, metrics.BusReconnects,
	metrics.CertificateExpiry, metrics.MemoryUsed, metrics.MemoryLimit,
}

// observe reports the process's databases, bus, memory and certificates at each collection of metrics.
func (p *Process) observe() error {
	sources, err := p.certificateFiles()
	if err != nil {
		return err
	}
	observed, err := metrics.Process().Observe(processMetrics, func(context.Context) ([]metrics.Value, error) {
		values, err := expiries(sources, time.Now())
		return append(values, p.measure()...), err
	})
	p.observed = observed
	return err
}

// certificateFiles returns the certificates of the process that are read from files, by what they are for. Derived ones live for a day and
// are renewed by the process.
func (p *Process) certificateFiles() (map[string]meshtls.Source, error) {
	sources := map[string]meshtls.Source{}
	for name, open := range map[string]func() (meshtls.Source, error){
		"bus": p.cfg.Bus.TLS.source, "temporal": p.cfg.Temporal.source, "mesh": p.meshSource, "gateway": p.gatewaySource,
	} {
		source, err := open()
		if err != nil {
			return nil, err
		}
		if _, files := source.(*meshtls.Files); files {
			sources[name] = source
		}
	}
	return sources, nil
}

// meshSource returns the certificates for calls between processes, nil for a process that has all roles.
func (p *Process) meshSource() (meshtls.Source, error) {
	if _, tcp := p.opts.Network.(rpc.TCP); !tcp {
		return nil, nil
	}
	return p.cfg.Mesh.certificates(p.opts.Roles)
}

// gatewaySource returns the certificate of the HTTP listener, nil without one.
func (p *Process) gatewaySource() (meshtls.Source, error) {
	if p.cfg.Gateway.Scheme() != "https" || !slices.Contains(p.opts.Roles, Gateway) {
		return nil, nil
	}
	files, err := meshtls.KeyPair(p.cfg.Gateway.TLS.Cert, p.cfg.Gateway.TLS.Key)
	if err != nil {
		return nil, fmt.Errorf("gateway.tls: %w", err)
	}
	return files, nil
}

// measure reads the state of databases, bus and memory.
func (p *Process) measure() []metrics.Value {
	var out []metrics.Value
	for role, db := range p.databases {
		s := db.Stats()
		out = append(out,
			metrics.Value{Metric: metrics.DatabaseConns, Number: float64(s.InUse), Labels: []string{role, "used"}},
			metrics.Value{Metric: metrics.DatabaseConns, Number: float64(s.Idle), Labels: []string{role, "idle"}},
			metrics.Value{Metric: metrics.DatabaseConns, Number: float64(s.MaxOpenConnections), Labels: []string{role, "max"}},
			metrics.Value{Metric: metrics.DatabaseWaits, Number: float64(s.WaitCount), Labels: []string{role}},
			metrics.Value{Metric: metrics.DatabaseWaited, Number: s.WaitDuration.Seconds(), Labels: []string{role}})
	}
	if p.bus != nil {
		reconnects, connected := p.bus.Connection()
		is := 0.0
		if connected {
			is = 1
		}
		out = append(out, metrics.Value{Metric: metrics.BusConnected, Number: is},
			metrics.Value{Metric: metrics.BusReconnects, Number: float64(reconnects)})
	}
	use := memlimit.Read()
	out = append(out, metrics.Value{Metric: metrics.MemoryUsed, Number: float64(use.Live + use.Other)})
	if most := memlimit.Most(); most > 0 {
		out = append(out, metrics.Value{Metric: metrics.MemoryLimit, Number: float64(most)})
	}
	return out
}

// expiries returns how long certificates are valid.
func expiries(sources map[string]meshtls.Source, now time.Time) (out []metrics.Value, _ error) {
	var errs []error
	for name, source := range sources {
		cert, err := source.Certificate()
		if err != nil {
			errs = append(errs, fmt.Errorf("read the certificate for %s: %w", name, err))
			continue
		}
		if len(cert.Certificate) == 0 {
			continue // servers do not ask for one
		}
		leaf, err := x509.ParseCertificate(cert.Certificate[0])
		if err != nil {
			errs = append(errs, fmt.Errorf("read the certificate for %s: %w", name, err))
			continue
		}
		out = append(out, metrics.Value{
			Metric: metrics.CertificateExpiry, Number: leaf.NotAfter.Sub(now).Seconds(), Labels: []string{name},
		})
	}
	return out, errors.Join(errs...)
}
