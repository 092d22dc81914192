package execute

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	sdkmetric "go.opentelemetry.io/otel/sdk/metric"

	"github.com/windlass-dev/windlass/libs/metrics"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
)

func TestMetrics(t *testing.T) {
	reader := sdkmetric.NewManualReader()
	m, err := NewMetrics(metrics.With(sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader)).Meter("test")))
	if err != nil {
		t.Fatal(err)
	}
	ok := &turnv1.ToolResult{}
	m.record("default", "n__a", Outcome{source: "n", Result: ok, ExecutionID: "exe_1", Latency: time.Second}, nil)
	m.record("default", "n__a", Outcome{source: "n", Result: ok, ExecutionID: "exe_1", Cached: true}, nil)
	m.record("default", "n__a", Outcome{source: "n", Result: &turnv1.ToolResult{IsError: true}, ExecutionID: "exe_2"}, nil)
	m.record("default", "n__a", Outcome{source: "n", Fault: denied("n__a"), Code: "permission_denied"}, nil)
	for i := range 100 {
		m.record("default", fmt.Sprint("invented-", i), Outcome{Code: "not_found"}, nil)
	}
	m.record("default", "n__a", Outcome{}, errors.New("boom"))
	m.record("acme", "n__a", Outcome{source: "n", Result: ok}, nil) // a tool with the same name
	m.Available(t.Context(), 7, 2)
	want := `windlass.tool.duration 2 1
windlass.tool.invocations false  internal default unknown 1
windlass.tool.invocations false  not_found default unknown 100
windlass.tool.invocations false n ok acme n__a 1
windlass.tool.invocations false n ok default n__a 1
windlass.tool.invocations false n permission_denied default n__a 1
windlass.tool.invocations false n tool_error default n__a 1
windlass.tool.invocations true n ok default n__a 1
windlass.tool_servers.available 2
windlass.tools.available 7`
	if got := lines(t, m, reader); strings.Join(got, "\n") != want {
		t.Errorf("got\n%s", strings.Join(got, "\n"))
	}
}

// TestMetricsOfToolsEnd: there are those of as many tools as were called last, and of none that was not called for long or is gone.
func TestMetricsOfToolsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reader := sdkmetric.NewManualReader()
		m, err := NewMetrics(metrics.With(sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader)).Meter("test")))
		if err != nil {
			t.Fatal(err)
		}
		called := func(tenant, source, tool string) {
			m.record(tenant, tool, Outcome{source: source, Result: &turnv1.ToolResult{}, ExecutionID: "exe_1", Latency: time.Second}, nil)
		}
		called("default", "old", "old__a")
		for i := range durationsKept {
			called("default", "n", fmt.Sprint("n__", i))
		}
		called("acme", "n", "n__0")
		if got := strings.Join(lines(t, m, reader), "\n"); strings.Count(got, "windlass.tool.duration") != durationsKept {
			t.Errorf("%d durations", strings.Count(got, "windlass.tool.duration"))
		}
		m.Forget("default", "n")
		if got := strings.Join(lines(t, m, reader), "\n"); strings.Count(got, "\n") != 2 || strings.Contains(got, "default n__") {
			t.Errorf("after its source is gone:\n%s", got)
		}
		time.Sleep(forgottenAfter / 2)
		called("default", "n", "n__1")
		time.Sleep(forgottenAfter/2 + time.Second)
		const last = "windlass.tool.duration 1 1\nwindlass.tool.invocations false n ok default n__1 1"
		if got := strings.Join(lines(t, m, reader), "\n"); got != last {
			t.Errorf("after a day:\n%s", got)
		}
	})
}

// lines returns the metrics as text, in order.
func lines(t *testing.T, m *Metrics, reader sdkmetric.Reader) []string {
	t.Helper()
	var got metricdata.ResourceMetrics
	if err := reader.Collect(t.Context(), &got); err != nil {
		t.Fatal(err)
	}
	produced, err := m.Produce(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	var all []metricdata.Metrics
	for _, scope := range append(got.ScopeMetrics, produced...) {
		all = append(all, scope.Metrics...)
	}
	for _, metric := range all {
		switch data := metric.Data.(type) {
		case metricdata.Sum[int64]:
			for _, p := range data.DataPoints {
				line := ""
				for _, kv := range p.Attributes.ToSlice() {
					line += " " + kv.Value.Emit()
				}
				lines = append(lines, fmt.Sprint(metric.Name, line, " ", p.Value))
			}
		case metricdata.Gauge[int64]:
			lines = append(lines, fmt.Sprint(metric.Name, " ", data.DataPoints[0].Value))
		case metricdata.Histogram[float64]:
			for _, p := range data.DataPoints {
				lines = append(lines, fmt.Sprint(metric.Name, " ", p.Count, " ", p.Sum))
			}
		}
	}
	slices.Sort(lines)
	return lines
}

func TestNearest(t *testing.T) {
	names := []string{"calculator__evaluate", "notes__add", "notes__list", "web__search", "web__fetch"}
	for wrong, want := range map[string]string{
		"calculator__evalute":                    "calculator__evaluate",
		"evaluate":                               "calculator__evaluate",
		"calculator_evaluate":                    "calculator__evaluate",
		"Notes__Add":                             "notes__add",
		"functions.search":                       "",
		"functions_search":                       "web__search",
		"weather__forecast":                      "",
		"":                                       "",
		strings.Repeat("calculator__evaluat", 9): "",
	} {
		if got := strings.Join(nearestTools(wrong, names), " "); got != want {
			t.Errorf("%q: %q, want %q", wrong, got, want)
		}
	}
}
