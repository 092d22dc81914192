package execute

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
)

func TestMetrics(t *testing.T) {
	reader := sdkmetric.NewManualReader()
	m, err := NewMetrics(sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader)).Meter("test"))
	if err != nil {
		t.Fatal(err)
	}
	ok := &turnv1.ToolResult{}
	m.record(t.Context(), "default", "n__a", Outcome{source: "n", Result: ok, ExecutionID: "exe_1", Latency: time.Second}, nil)
	m.record(t.Context(), "default", "n__a", Outcome{source: "n", Result: ok, ExecutionID: "exe_1", Cached: true}, nil)
	m.record(t.Context(), "default", "n__a", Outcome{source: "n", Result: &turnv1.ToolResult{IsError: true}, ExecutionID: "exe_2"}, nil)
	m.record(t.Context(), "default", "n__a", Outcome{source: "n", Fault: denied("n__a"), Code: "permission_denied"}, nil)
	for i := range 100 {
		m.record(t.Context(), "default", fmt.Sprint("invented-", i), Outcome{Code: "not_found"}, nil)
	}
	m.record(t.Context(), "default", "n__a", Outcome{}, errors.New("boom"))
	m.record(t.Context(), "acme", "n__a", Outcome{source: "n", Result: ok}, nil) // a tool with the same name
	m.Available(t.Context(), 7, 2)
	var got metricdata.ResourceMetrics
	if err := reader.Collect(t.Context(), &got); err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, metric := range got.ScopeMetrics[0].Metrics {
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
			lines = append(lines, fmt.Sprint(metric.Name, " ", data.DataPoints[0].Count, " ", data.DataPoints[0].Sum))
		}
	}
	slices.Sort(lines)
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
	if strings.Join(lines, "\n") != want {
		t.Errorf("got\n%s", strings.Join(lines, "\n"))
	}
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
