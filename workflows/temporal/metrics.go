package temporal

import (
	"context"
	"maps"

	"go.opentelemetry.io/otel/metric"
	"go.temporal.io/sdk/client"

	"github.com/windlass-dev/windlass/libs/metrics"
)

// sdkMetric is what becomes of a metric of the SDK: a metric of ours, whose labels are tags of the SDK's, or have a fixed value.
type sdkMetric struct {
	to *metrics.Metric
	// tag is the SDK's tag for the first label, "" for none; fixed is the value of the last label, "" for none.
	tag, fixed string
}

// sdkMetrics are the SDK's metrics that are kept, by name. Others, and tags that are not named here, are dropped: task queues, types and
// namespaces would multiply the series.
var sdkMetrics = map[string]sdkMetric{
	"temporal_request":                         {to: metrics.TemporalRequests, tag: "operation"},
	"temporal_long_request":                    {to: metrics.TemporalRequests, tag: "operation"},
	"temporal_request_failure":                 {to: metrics.TemporalFailures, tag: "operation"},
	"temporal_long_request_failure":            {to: metrics.TemporalFailures, tag: "operation"},
	"temporal_worker_task_slots_used":          {to: metrics.TemporalSlots, tag: "worker_type", fixed: "used"},
	"temporal_worker_task_slots_available":     {to: metrics.TemporalSlots, tag: "worker_type", fixed: "available"},
	"temporal_workflow_task_execution_failed":  {to: metrics.TemporalTaskFailures, fixed: "workflow"},
	"temporal_activity_execution_failed":       {to: metrics.TemporalTaskFailures, fixed: "activity"},
	"temporal_local_activity_execution_failed": {to: metrics.TemporalTaskFailures, fixed: "local_activity"},
	"temporal_sticky_cache_size":               {to: metrics.TemporalCached},
}

// sdk takes the SDK's metrics. It implements client.MetricsHandler.
type sdk struct {
	counters map[*metrics.Metric]metric.Int64Counter
	gauges   map[*metrics.Metric]metric.Int64Gauge
	tags     map[string]string
}

// SDKMetrics returns a handler that keeps some of the SDK's metrics, as metrics of Windlass.
func SDKMetrics() client.MetricsHandler {
	s := &sdk{counters: map[*metrics.Metric]metric.Int64Counter{}, gauges: map[*metrics.Metric]metric.Int64Gauge{}}
	from := metrics.Process()
	for _, kept := range sdkMetrics {
		switch kept.to.Kind {
		case metrics.Counter:
			s.counters[kept.to] = from.Counter(kept.to)
		default:
			s.gauges[kept.to] = from.Gauge(kept.to)
		}
	}
	return s
}

// WithTags implements client.MetricsHandler.
func (s *sdk) WithTags(tags map[string]string) client.MetricsHandler {
	all := maps.Clone(s.tags)
	if all == nil {
		all = map[string]string{}
	}
	maps.Copy(all, tags)
	return &sdk{counters: s.counters, gauges: s.gauges, tags: all}
}

// labelled returns the labels of one of the SDK's metrics.
func (s *sdk) labelled(kept sdkMetric) metric.MeasurementOption {
	var values []string
	if kept.tag != "" {
		values = append(values, s.tags[kept.tag])
	}
	if kept.fixed != "" {
		values = append(values, kept.fixed)
	}
	return kept.to.Labelled(values...)
}

// Counter implements client.MetricsHandler.
func (s *sdk) Counter(name string) client.MetricsCounter {
	kept, ok := sdkMetrics[name]
	if !ok {
		return client.MetricsNopHandler.Counter(name)
	}
	return sdkCounter{to: s.counters[kept.to], labels: s.labelled(kept)}
}

// Gauge implements client.MetricsHandler.
func (s *sdk) Gauge(name string) client.MetricsGauge {
	kept, ok := sdkMetrics[name]
	if !ok {
		return client.MetricsNopHandler.Gauge(name)
	}
	return sdkGauge{to: s.gauges[kept.to], labels: s.labelled(kept)}
}

// Timer implements client.MetricsHandler.
func (s *sdk) Timer(name string) client.MetricsTimer { return client.MetricsNopHandler.Timer(name) }

type sdkCounter struct {
	to     metric.Int64Counter
	labels metric.MeasurementOption
}

// Inc implements client.MetricsCounter.
func (c sdkCounter) Inc(n int64) { c.to.Add(context.Background(), n, c.labels) }

type sdkGauge struct {
	to     metric.Int64Gauge
	labels metric.MeasurementOption
}

// Update implements client.MetricsGauge.
func (g sdkGauge) Update(n float64) { g.to.Record(context.Background(), int64(n), g.labels) }
