// Package metrics has the table of the metrics that Windlass measures. Instruments are made from its rows only, so the table, the reference
// that is generated from it, dashboards and alerts cannot differ from what is measured.
package metrics

import (
	"fmt"
	"strings"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
)

// Kind is what a metric is for Prometheus.
type Kind string

// Kinds of metrics.
const (
	Counter   Kind = "counter"
	Gauge     Kind = "gauge"
	Histogram Kind = "histogram"
)

// Metric is one row of the table.
type Metric struct {
	// Name is OpenTelemetry's, in words separated by points. Series has that of Prometheus.
	Name string
	// Kind is what it is.
	Kind Kind
	// Unit is "s" for seconds, "By" for bytes, "" for a number.
	Unit string
	// Labels are the names of its labels, in the order in which Labelled takes their values.
	Labels []string
	// Help says what it counts, in a sentence.
	Help string
	// From are the roles that report it; empty means every process.
	From string
	// Shared metrics are read from the database: all replicas report the same number, which outlives their processes.
	Shared bool
	// Library metrics are measured by instruments of OpenTelemetry's libraries; their labels depend on the call.
	Library bool
	// Bounds are the upper bounds of a histogram's buckets, in Unit.
	Bounds []float64
}

// scope names the instrumentation of all metrics.
const scope = "github.com/windlass-dev/windlass"

// Series is the name of the metric in Prometheus. Those of histograms have _bucket, _sum and _count behind it.
func (m *Metric) Series() string {
	name := strings.ReplaceAll(m.Name, ".", "_")
	if m.Unit == "s" && !strings.HasSuffix(name, "_seconds") {
		name += "_seconds"
	}
	if m.Unit == "By" {
		name += "_bytes"
	}
	if m.Kind == Counter && !strings.HasSuffix(name, "_total") {
		name += "_total"
	}
	return name
}

// description is the help text of its instrument.
func (m *Metric) description() string {
	if m.Shared {
		return m.Help + " All replicas report the same number."
	}
	return m.Help
}

// Attributes are its labels with values, which are in the order of Labels. Left-out values are empty.
func (m *Metric) Attributes(values ...string) attribute.Set {
	pairs := make([]attribute.KeyValue, len(m.Labels))
	for i, label := range m.Labels {
		pairs[i] = attribute.String(label, "")
		if i < len(values) {
			pairs[i] = attribute.String(label, values[i])
		}
	}
	return attribute.NewSet(pairs...)
}

// Labelled are its labels with values, for a measurement.
func (m *Metric) Labelled(values ...string) metric.MeasurementOption {
	return metric.WithAttributeSet(m.Attributes(values...))
}

// Data is the metric for a producer that has its values itself.
func (m *Metric) Data(values metricdata.Aggregation) metricdata.Metrics {
	return metricdata.Metrics{Name: m.Name, Description: m.description(), Unit: m.Unit, Data: values}
}

// Meter makes instruments.
type Meter struct{ from metric.Meter }

// Process is the meter of the process, as telemetry has set it up.
func Process() Meter { return Meter{otel.Meter(scope)} }

// With returns a meter that makes instruments of another one, for tests.
func With(from metric.Meter) Meter { return Meter{from} }

// made reports what is wrong with a row. The instrument of a wrong row measures nothing; a test makes those of all rows.
func made[T any](m *Metric, kind Kind, instrument T, err error) T {
	switch {
	case err != nil:
		otel.Handle(fmt.Errorf("make metric %s: %w", m.Name, err))
	case m.Kind != kind:
		otel.Handle(fmt.Errorf("make metric %s: it is a %s, not a %s", m.Name, m.Kind, kind))
	}
	return instrument
}

// Counter makes a counter.
func (f Meter) Counter(m *Metric) metric.Int64Counter {
	c, err := f.from.Int64Counter(m.Name, metric.WithDescription(m.description()), metric.WithUnit(m.Unit))
	return made(m, Counter, c, err)
}

// Histogram makes a histogram with the row's bounds.
func (f Meter) Histogram(m *Metric) metric.Float64Histogram {
	h, err := f.from.Float64Histogram(m.Name, metric.WithDescription(m.description()), metric.WithUnit(m.Unit),
		metric.WithExplicitBucketBoundaries(m.Bounds...))
	return made(m, Histogram, h, err)
}

// UpDown makes a gauge that is counted up and down.
func (f Meter) UpDown(m *Metric) metric.Int64UpDownCounter {
	g, err := f.from.Int64UpDownCounter(m.Name, metric.WithDescription(m.description()), metric.WithUnit(m.Unit))
	return made(m, Gauge, g, err)
}

// Gauge makes a gauge that is set.
func (f Meter) Gauge(m *Metric) metric.Int64Gauge {
	g, err := f.from.Int64Gauge(m.Name, metric.WithDescription(m.description()), metric.WithUnit(m.Unit))
	return made(m, Gauge, g, err)
}

// Value is a measurement of an observed metric.
type Value struct {
	Metric *Metric
	// Number is the value. Labels are the values of the metric's labels.
	Number float64
	Labels []string
}

// Observed are metrics whose values are read when they are collected.
type Observed struct {
	instruments map[*Metric]metric.Float64Observable
	reg         metric.Registration
}

// Stop ends the observation. Callers may drop it with the process instead.
func (o *Observed) Stop() {
	if o.reg != nil {
		_ = o.reg.Unregister() // fails only if it was never registered
	}
}

// write writes the values to an observer. Values of metrics that were not named to Observe are dropped.
func (o *Observed) write(to metric.Observer, values []Value) {
	for _, v := range values {
		if instrument, ok := o.instruments[v.Metric]; ok {
			to.ObserveFloat64(instrument, v.Number, v.Metric.Labelled(v.Labels...))
		}
	}
}

// Rows are metrics of the table.
type Rows []*Metric
