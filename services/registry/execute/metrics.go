package execute

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/metrics"
)

// Metrics records tool calls and the available tools. Those of tools are bounded, and end with their sources: see series.
type Metrics struct {
	calls    *series[*count]
	duration *series[*histogram]
	tools    metric.Int64Gauge
	sources  metric.Int64Gauge
}

// labels are what the attributes of a call depend on.
type labels struct {
	tenant, tool, source, status string
	cached                       bool
}

// Limits of the metrics of tools.
const (
	// countsKept is the number of outcomes of tools, and durationsKept that of tools: those that were called last.
	countsKept, durationsKept = 2048, 256
	// forgottenAfter is how long after its last call a tool is left out.
	forgottenAfter = 24 * time.Hour
)

// NewMetrics creates the metrics. Those of tools are produced by Produce.
func NewMetrics(meter metrics.Meter) (*Metrics, error) {
	m := &Metrics{}
	var errs [2]error
	m.calls, errs[0] = newSeries(countsKept, func() *count { return &count{} })
	m.duration, errs[1] = newSeries(durationsKept, func() *histogram {
		return &histogram{buckets: make([]uint64, len(metrics.ToolSeconds.Bounds)+1)}
	})
	m.tools, m.sources = meter.Gauge(metrics.ToolsAvailable), meter.Gauge(metrics.SourcesAvailable)
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

// Forget ends the metrics of the tools of a source.
func (m *Metrics) Forget(tenant, source string) {
	of := func(l labels) bool { return l.tenant == tenant && l.source == source }
	m.calls.forget(of)
	m.duration.forget(of)
}

// record counts one call. Tool names invented by models are not labels, since they are unbounded.
func (m *Metrics) record(tenant, tool string, out Outcome, err error) {
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
	m.calls.update(labels{tenant, tool, out.source, status, out.Cached}, func(c *count) { c.n++ })
	if !out.Cached && out.ExecutionID != "" {
		seconds := out.Latency.Seconds()
		m.duration.update(labels{tenant: tenant, tool: tool, source: out.source}, func(h *histogram) { h.add(seconds) })
	}
}

// ofTool returns the attributes of a tool, and ofCall those of the outcome of its calls.
func (l labels) ofTool() attribute.Set {
	return metrics.ToolSeconds.Attributes(l.tenant, l.tool, l.source)
}

func (l labels) ofCall() attribute.Set {
	return metrics.ToolCalls.Attributes(l.tenant, l.tool, l.source, l.status, strconv.FormatBool(l.cached))
}
