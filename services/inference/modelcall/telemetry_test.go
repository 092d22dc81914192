package modelcall_test

import (
	"fmt"
	"strings"
	"testing"

	"go.opentelemetry.io/otel"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	inferencev1 "github.com/windlass-dev/windlass/proto/gen/windlass/inference/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/inference/inferencetest"
)

// TestTelemetry replaces the process's telemetry, so no test here may be parallel.
func TestTelemetry(t *testing.T) {
	spans, reader := tracetest.NewSpanRecorder(), sdkmetric.NewManualReader()
	traces, meters := otel.GetTracerProvider(), otel.GetMeterProvider()
	otel.SetTracerProvider(sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(spans)))
	otel.SetMeterProvider(sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader)))
	t.Cleanup(func() {
		otel.SetTracerProvider(traces)
		otel.SetMeterProvider(meters)
	})
	client := inferencetest.Serve(t, inferencetest.Config(), nil)
	for _, text := range []string{"say:mysterious", "fail:always"} {
		req := &inferencev1.GenerateRequest{Messages: []*turnv1.Message{inferencetest.User(text)}, TurnId: "trn_1", Step: "infer-1"}
		if _, err := inferencetest.Ask(t.Context(), t, client, req); (err != nil) != (text == "fail:always") {
			t.Fatal(err)
		}
	}
	var all strings.Builder
	for _, s := range spans.Ended() {
		if s.Name() == "chat scripted" {
			fmt.Fprintln(&all, s.SpanKind(), s.Status().Code, s.Attributes())
		}
	}
	for _, want := range []string{
		"gen_ai.operation.name", "gen_ai.request.model", "gen_ai.usage.output_tokens",
		"gen_ai.response.finish_reasons", "trn_1", "infer-1", "model_rejected",
	} {
		if !strings.Contains(all.String(), want) {
			t.Errorf("no %s in the spans:\n%s", want, all.String())
		}
	}
	if strings.Contains(all.String(), "mysterious") {
		t.Errorf("content in the spans:\n%s", all.String())
	}
	var measured metricdata.ResourceMetrics
	if err := reader.Collect(t.Context(), &measured); err != nil {
		t.Fatal(err)
	}
	names := map[string]int{}
	for _, scope := range measured.ScopeMetrics {
		for _, m := range scope.Metrics {
			switch d := m.Data.(type) {
			case metricdata.Sum[int64]:
				names[m.Name] = len(d.DataPoints)
			case metricdata.Histogram[float64]:
				names[m.Name] = len(d.DataPoints)
			}
		}
	}
	if names["windlass.model.calls"] != 2 || names["windlass.model.first_token"] != 1 || names["windlass.model.tokens"] != 2 {
		t.Errorf("measured %v", names)
	}
}
