package execute

import (
	"context"
	"errors"
	"fmt"

	lru "github.com/hashicorp/golang-lru/v2"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/windlass-dev/windlass/libs/fault"
)

// Metrics records tool calls and the available tools.
type Metrics struct {
	calls    metric.Int64Counter
	duration metric.Float64Histogram
	tools    metric.Int64Gauge
	sources  metric.Int64Gauge
	kept     *lru.Cache[labels, [2]metric.MeasurementOption]
}

// labels are what the attributes of a call depend on.
type labels struct {
	tenant, tool, source, status string
	cached                       bool
}

// labelsKept bounds the attributes that are kept.
const labelsKept = 2048

// NewMetrics creates the instruments.
func NewMetrics(meter metric.Meter) (*Metrics, error) {
	m := &Metrics{}
	var errs [5]error
	m.calls, errs[0] = meter.Int64Counter("windlass.tool.invocations", metric.WithDescription("Tool calls by outcome."))
	m.duration, errs[1] = meter.Float64Histogram("windlass.tool.duration", metric.WithUnit("s"),
		metric.WithDescription("Wall time of tool calls that were sent."),
		metric.WithExplicitBucketBoundaries(.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 120, 300))
	m.tools, errs[2] = meter.Int64Gauge("windlass.tools.available", metric.WithDescription("Tools of sources that can be reached."))
	m.sources, errs[3] = meter.Int64Gauge("windlass.tool_servers.available", metric.WithDescription("Sources that can be reached."))
	m.kept, errs[4] = lru.New[labels, [2]metric.MeasurementOption](labelsKept)
	if err := errors.Join(errs[:]...); err != nil {
		return nil, fmt.Errorf("make metrics: %w", err)
	}
	return m, nil
}

// Available records what is reachable now.
func (m *Metrics) Available(ctx context.Context, tools, sources int) {
	m.tools.Record(ctx, int64(tools))
	m.sources.Record(ctx, int64(sources))
}

// record counts one call. Tool names invented by models are not labels, since they are unbounded.
func (m *Metrics) record(ctx context.Context, tenant, tool string, out Outcome, err error) {
	status := "ok"
	switch {
	case err != nil:
		status = fault.CodeOf(err)
	case out.Approval != nil:
		status = "approval_required"
	case out.Input != nil:
		status = "input_required"
	case out.Code != "":
		status = out.Code
	case out.Result.GetIsError():
		status = "tool_error"
	}
	if out.source == "" {
		tool = "unknown"
	}
	options := m.attributes(labels{tenant, tool, out.source, status, out.Cached})
	m.calls.Add(ctx, 1, options[0])
	if !out.Cached && out.ExecutionID != "" {
		m.duration.Record(ctx, out.Latency.Seconds(), options[1])
	}
}

// attributes returns those of the number of calls, and of their duration.
func (m *Metrics) attributes(l labels) [2]metric.MeasurementOption {
	if kept, ok := m.kept.Get(l); ok {
		return kept
	}
	tenant, tool, source := attribute.String("tenant", l.tenant), attribute.String("tool", l.tool), attribute.String("source", l.source)
	options := [2]metric.MeasurementOption{
		metric.WithAttributeSet(attribute.NewSet(tenant, tool, source, attribute.String("status", l.status),
			attribute.Bool("cached", l.cached))),
		metric.WithAttributeSet(attribute.NewSet(tenant, tool, source)),
	}
	m.kept.Add(l, options)
	return options
}
