package temporal

import (
	"context"
	"slices"
	"sync"

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
	"temporal_request":                         {to: metrics.TemporalRequests, tag: tagOperation},
	"temporal_long_request":                    {to: metrics.TemporalRequests, tag: tagOperation},
	"temporal_request_failure":                 {to: metrics.TemporalFailures, tag: tagOperation},
	"temporal_long_request_failure":            {to: metrics.TemporalFailures, tag: tagOperation},
	"temporal_worker_task_slots_used":          {to: metrics.TemporalSlots, tag: tagWorkerType, fixed: "used"},
	"temporal_worker_task_slots_available":     {to: metrics.TemporalSlots, tag: tagWorkerType, fixed: "available"},
	"temporal_workflow_task_execution_failed":  {to: metrics.TemporalTaskFailures, fixed: "workflow"},
	"temporal_activity_execution_failed":       {to: metrics.TemporalTaskFailures, fixed: "activity"},
	"temporal_local_activity_execution_failed": {to: metrics.TemporalTaskFailures, fixed: "local_activity"},
	"temporal_sticky_cache_size":               {to: metrics.TemporalCached},
}

// ordinary are the codes of answers that are no failures: a workflow has been started before, or it has ended, or the caller has gone. They
// are as gRPC writes them, and as the SDK tags requests that failed.
var ordinary = []string{"NOT_FOUND", "ALREADY_EXISTS", "CANCELLED"}

// Names of the SDK's tags that are kept.
const tagOperation, tagWorkerType, tagStatus = "operation", "worker_type", "status_code"

// tags are the values of the SDK's tags that are kept.
type tags struct{ operation, workerType, status string }

// value returns the value of a tag of sdkMetrics.
func (t tags) value(name string) string {
	switch name {
	case tagOperation:
		return t.operation
	case tagWorkerType:
		return t.workerType
	}
	return ""
}

// instruments are those of the metrics that are kept.
type instruments struct {
	counters map[*metrics.Metric]metric.Int64Counter
	gauges   map[*metrics.Metric]metric.Int64Gauge
	labels   sync.Map // of measured: the option with the labels, which each request and task needs
}

// measured is one of the SDK's metrics, with the value of its tag.
type measured struct{ name, value string }

// sdk takes the SDK's metrics. It implements client.MetricsHandler.
type sdk struct {
	*instruments
	tags tags
}

// SDKMetrics returns a handler that keeps some of the SDK's metrics, as metrics of Windlass.
func SDKMetrics() client.MetricsHandler { return sdkMetricsOf(metrics.Process()) }

func sdkMetricsOf(from metrics.Meter) *sdk {
	all := &instruments{counters: map[*metrics.Metric]metric.Int64Counter{}, gauges: map[*metrics.Metric]metric.Int64Gauge{}}
	for _, kept := range sdkMetrics {
		switch kept.to.Kind {
		case metrics.Counter:
			all.counters[kept.to] = from.Counter(kept.to)
		default:
			all.gauges[kept.to] = from.Gauge(kept.to)
		}
	}
	return &sdk{instruments: all}
}

// WithTags implements client.MetricsHandler. The SDK calls it for each request and task, mostly with tags that are dropped.
func (s *sdk) WithTags(more map[string]string) client.MetricsHandler {
	next := s.tags
	for name, value := range more {
		switch name {
		case tagOperation:
			next.operation = value
		case tagWorkerType:
			next.workerType = value
		case tagStatus:
			next.status = value
		}
	}
	if next == s.tags {
		return s
	}
	return &sdk{instruments: s.instruments, tags: next}
}

// labelled returns the labels of one of the SDK's metrics.
func (s *sdk) labelled(name string, kept sdkMetric) metric.MeasurementOption {
	key := measured{name, s.tags.value(kept.tag)}
	if found, ok := s.labels.Load(key); ok {
		if option, isOption := found.(metric.MeasurementOption); isOption {
			return option
		}
	}
	var values []string
	if kept.tag != "" {
		values = append(values, key.value)
	}
	if kept.fixed != "" {
		values = append(values, kept.fixed)
	}
	option := kept.to.Labelled(values...)
	s.labels.Store(key, option)
	return option
}

// Counter implements client.MetricsHandler.
func (s *sdk) Counter(name string) client.MetricsCounter {
	kept, ok := sdkMetrics[name]
	if !ok || kept.to == metrics.TemporalFailures && slices.Contains(ordinary, s.tags.status) {
		return client.MetricsNopHandler.Counter(name)
	}
	return sdkCounter{to: s.counters[kept.to], labels: s.labelled(name, kept)}
}

// Gauge implements client.MetricsHandler.
func (s *sdk) Gauge(name string) client.MetricsGauge {
	kept, ok := sdkMetrics[name]
	if !ok {
		return client.MetricsNopHandler.Gauge(name)
	}
	return sdkGauge{to: s.gauges[kept.to], labels: s.labelled(name, kept)}
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
