package mcpbridge_test

import (
	"strings"
	"testing"

	"go.opentelemetry.io/otel"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	mcpbridgev1 "github.com/windlass-dev/windlass/proto/gen/windlass/mcpbridge/v1"
)

func TestACallIsASpanWhoseTraceGoesOn(t *testing.T) {
	spans := tracetest.NewInMemoryExporter()
	before := otel.GetTracerProvider()
	otel.SetTracerProvider(sdktrace.NewTracerProvider(sdktrace.WithSyncer(spans)))
	t.Cleanup(func() { otel.SetTracerProvider(before) })

	s := &mcpbridgev1.Server{Id: "src_x", Url: serve(t, newToolServer().legacy()).URL}
	got := text(newBridge(t).must(t, s, "meta", `{"private":"argument"}`))
	for _, span := range spans.GetSpans() {
		if span.Name != "tools/call meta" {
			continue
		}
		if span.SpanKind != trace.SpanKindClient {
			t.Errorf("kind: got %v", span.SpanKind)
		}
		if !strings.Contains(got, span.SpanContext.TraceID().String()+"-"+span.SpanContext.SpanID().String()) {
			t.Errorf("the server got %s", got)
		}
		for _, a := range span.Attributes {
			if strings.Contains(a.Value.Emit(), "argument") {
				t.Errorf("the span tells %v", a)
			}
		}
		return
	}
	t.Error("no span of the call")
}
