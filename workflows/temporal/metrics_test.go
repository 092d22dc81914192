package temporal

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/windlass-dev/windlass/libs/metrics"
)

// TestSDKMetrics: requests and failures are counted by operation, answers that are ordinary are no failures, and other metrics and tags of
// the SDK are dropped.
func TestSDKMetrics(t *testing.T) {
	reader := sdkmetric.NewManualReader()
	all := sdkMetricsOf(metrics.With(sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader)).Meter("test")))
	call := func(code string) {
		h := all.WithTags(map[string]string{"operation": "StartWorkflowExecution", "namespace": "default"})
		h.Counter("temporal_request").Inc(1)
		h.Counter("temporal_request_latency").Inc(1)
		if code != "" {
			h.WithTags(map[string]string{"status_code": code}).Counter("temporal_request_failure").Inc(1)
		}
	}
	for _, code := range []string{"", "NOT_FOUND", "ALREADY_EXISTS", "CANCELLED", "UNAVAILABLE", "INTERNAL"} {
		call(code)
	}
	all.WithTags(map[string]string{"worker_type": "ActivityWorker"}).Gauge("temporal_worker_task_slots_used").Update(3)
	var got metricdata.ResourceMetrics
	if err := reader.Collect(t.Context(), &got); err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, m := range got.ScopeMetrics[0].Metrics {
		var points []metricdata.DataPoint[int64]
		switch data := m.Data.(type) {
		case metricdata.Sum[int64]:
			points = data.DataPoints
		case metricdata.Gauge[int64]:
			points = data.DataPoints
		}
		for _, p := range points {
			line := m.Name
			for _, label := range p.Attributes.ToSlice() {
				line += " " + label.Value.AsString()
			}
			lines = append(lines, fmt.Sprint(line, " ", p.Value))
		}
	}
	slices.Sort(lines)
	want := `windlass.temporal.request_failures StartWorkflowExecution 2
windlass.temporal.requests StartWorkflowExecution 6
windlass.temporal.worker_slots used ActivityWorker 3`
	if text := strings.Join(lines, "\n"); text != want {
		t.Errorf("got\n%s\nwant\n%s", text, want)
	}
}

// TestDroppedTagsMakeNoHandler: the SDK tags each request and task, mostly with what is dropped.
func TestDroppedTagsMakeNoHandler(t *testing.T) {
	all := sdkMetricsOf(metrics.Process())
	if all.WithTags(map[string]string{"namespace": "default", "workflow_type": "turn"}) != all {
		t.Error("tags that are dropped make another handler")
	}
}
