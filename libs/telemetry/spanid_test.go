package telemetry

import (
	"testing"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

func TestSpanIDMayBeChosen(t *testing.T) {
	tracer := sdktrace.NewTracerProvider(sdktrace.WithIDGenerator(idGenerator{})).Tracer("test")
	ctx, root := tracer.Start(t.Context(), "root")
	want := trace.SpanID{1, 2, 3}
	_, span := tracer.Start(WithSpanID(ctx, want), "chosen")
	if got := span.SpanContext(); got.SpanID() != want || got.TraceID() != root.SpanContext().TraceID() {
		t.Errorf("the span is %v in trace %v", got.SpanID(), got.TraceID())
	}
	_, other := tracer.Start(ctx, "other")
	if id := other.SpanContext().SpanID(); !id.IsValid() || id == want || id == root.SpanContext().SpanID() {
		t.Errorf("another span is %v", id)
	}
}
