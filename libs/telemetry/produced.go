package telemetry

import (
	"context"
	"errors"
	"slices"
	"sync"

	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
)

// Add adds metrics that end, as those of things that come and go: an instrument of OpenTelemetry keeps what it has measured once for the
// life of the process. They belong to the process, as all of OpenTelemetry does; remove ends them.
func Add(p sdkmetric.Producer) (remove func()) { return process.add(p) }

// process has the producers of the process.
var process producers

// producers implements sdkmetric.Producer with those that were added. The zero value is ready for use.
type producers struct {
	mu  sync.Mutex
	all []*sdkmetric.Producer
}

func (p *producers) add(one sdkmetric.Producer) func() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.all = append(p.all, &one)
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.all = slices.DeleteFunc(p.all, func(other *sdkmetric.Producer) bool { return other == &one })
	}
}

// Produce implements sdkmetric.Producer.
func (p *producers) Produce(ctx context.Context) ([]metricdata.ScopeMetrics, error) {
	p.mu.Lock()
	all := slices.Clone(p.all)
	p.mu.Unlock()
	var out []metricdata.ScopeMetrics
	var errs []error
	for _, one := range all {
		found, err := (*one).Produce(ctx)
		out, errs = append(out, found...), append(errs, err)
	}
	return out, errors.Join(errs...)
}
