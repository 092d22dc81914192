package modelcall

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/attribute"
	otelcodes "go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/metrics"
	"github.com/windlass-dev/windlass/services/inference/catalog"
	"github.com/windlass-dev/windlass/services/inference/provider"
)

// meter counts model calls.
type meter struct {
	calls  metric.Int64Counter
	first  metric.Float64Histogram
	tokens metric.Int64Counter
}

func newMeter() *meter {
	from := metrics.Process()
	return &meter{
		calls: from.Counter(metrics.ModelCalls), first: from.Histogram(metrics.ModelFirstToken), tokens: from.Counter(metrics.ModelTokens),
	}
}

// record counts one call. finished is nil if it failed.
func (m *meter) record(ctx context.Context, asked catalog.Model, first time.Duration, finished *Answer, err error) {
	var used *provider.Usage
	if finished != nil {
		used = finished.Usage
	}
	m.count(ctx, asked, first, used, err)
}

// count counts one call. first is 0 for a call that is not streamed, used nil for one that failed.
func (m *meter) count(ctx context.Context, asked catalog.Model, first time.Duration, used *provider.Usage, err error) {
	ctx = context.WithoutCancel(ctx)
	provider, model := asked.Provider.Name, asked.Name
	status := "ok"
	if err != nil {
		status = fault.CodeOf(err)
	}
	m.calls.Add(ctx, 1, metrics.ModelCalls.Labelled(provider, model, status))
	if first > 0 {
		m.first.Record(ctx, first.Seconds(), metrics.ModelFirstToken.Labelled(provider, model))
	}
	if used != nil {
		m.tokens.Add(ctx, used.Input, metrics.ModelTokens.Labelled(provider, model, "input"))
		m.tokens.Add(ctx, used.Output, metrics.ModelTokens.Labelled(provider, model, "output"))
	}
}

// describe returns the span attributes of a request, with OpenTelemetry's names for generative AI. It never contains content.
func describe(asked catalog.Model, req provider.Request) trace.SpanStartEventOption {
	attributes := []attribute.KeyValue{
		attribute.String("gen_ai.operation.name", "chat"),
		attribute.String("gen_ai.provider.name", asked.Provider.Kind.Name),
		attribute.String("gen_ai.request.model", asked.Name),
		attribute.Bool("gen_ai.request.stream", true),
		attribute.String("windlass.provider", asked.Provider.Name),
		attribute.String("windlass.turn.id", req.TurnID),
		attribute.String("windlass.step", req.Step),
	}
	if n := req.MaxOutputTokens; n > 0 {
		attributes = append(attributes, attribute.Int("gen_ai.request.max_tokens", n))
	}
	if req.Temperature != nil {
		attributes = append(attributes, attribute.Float64("gen_ai.request.temperature", *req.Temperature))
	}
	return trace.WithAttributes(attributes...)
}

// conclude records the result of the call on the span.
func conclude(span trace.Span, finished *Answer, err error) {
	if err != nil {
		fail(span, err)
		return
	}
	span.SetAttributes(
		attribute.StringSlice("gen_ai.response.finish_reasons", []string{finished.Reason}),
		attribute.Int("gen_ai.usage.input_tokens", int(finished.Usage.Input)),
		attribute.Int("gen_ai.usage.output_tokens", int(finished.Usage.Output)),
	)
}

// fail records an error on the span.
func fail(span trace.Span, err error) {
	code := fault.CodeOf(err)
	span.SetAttributes(attribute.String("error.type", code))
	span.SetStatus(otelcodes.Error, code)
}
