package metrics

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.opentelemetry.io/otel/metric"
)

// readTimeout bounds a reading: the other metrics wait for it, and Prometheus waits for ten seconds for all of them by default.
const readTimeout = 5 * time.Second

// Observe has counters and gauges read at each collection, until Stop. read returns their values now, in five seconds at most; with an
// error, what it returned is collected all the same.
func (f Meter) Observe(rows Rows, read func(context.Context) ([]Value, error)) (*Observed, error) {
	o := &Observed{instruments: map[*Metric]metric.Float64Observable{}}
	var all []metric.Observable
	var errs []error
	for _, m := range rows {
		instrument, err := f.observable(m)
		if err != nil {
			errs = append(errs, fmt.Errorf("make metric %s: %w", m.Name, err))
			continue
		}
		o.instruments[m] = instrument
		all = append(all, instrument)
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	var err error
	o.reg, err = f.from.RegisterCallback(func(ctx context.Context, to metric.Observer) error {
		ctx, cancel := context.WithTimeout(ctx, readTimeout)
		defer cancel()
		values, err := read(ctx)
		o.write(to, values)
		return err
	}, all...)
	if err != nil {
		return nil, fmt.Errorf("observe metrics: %w", err)
	}
	return o, nil
}

func (f Meter) observable(m *Metric) (metric.Float64Observable, error) {
	switch m.Kind {
	case Counter:
		return f.from.Float64ObservableCounter(m.Name, metric.WithDescription(m.description()), metric.WithUnit(m.Unit))
	case Gauge:
		return f.from.Float64ObservableGauge(m.Name, metric.WithDescription(m.description()), metric.WithUnit(m.Unit))
	default:
		return nil, errors.New("histograms are recorded, not observed")
	}
}
