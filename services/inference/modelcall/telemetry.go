package modelcall

import (
	"context"
	"errors"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	otelcodes "go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/services/inference/catalog"
	"github.com/windlass-dev/windlass/services/inference/provider"
)

// meter counts model calls.
type meter struct {
	calls  metric.Int64Counter
	first  metric.Float64Histogram
	tokens metric.Int64Counter
}

func newMeter() (*meter, error) {
	from := otel.Meter("github.com/windlass-dev/windlass/services/inference")
	var m meter
	var errs [3]error
	m.calls, errs[0] = from.Int64Counter("windlass.model.calls", metric.WithDescription("Model calls by outcome."))
	m.first, errs[1] = from.Float64Histogram("windlass.model.first_token", metric.WithUnit("s"),
		metric.WithDescription("Time until the first piece of an answer."),
		metric.WithExplicitBucketBoundaries(0.05, 0.1, 0.25, 0.5, 1, 2, 4, 8, 15, 30, 60))
	m.tokens, errs[2] = from.Int64Counter("windlass.model.tokens",
		metric.WithDescription("Tokens read and written by models, estimates included."))
	return &m, errors.Join(errs[:]...)
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
	whom := []attribute.KeyValue{attribute.String("provider", asked.Provider.Name), attribute.String("model", asked.Name)}
	status := "ok"
	if err != nil {
		status = fault.CodeOf(err)
	}
	m.calls.Add(ctx, 1, metric.WithAttributes(append(whom, attribute.String("status", status))...))
	if first > 0 {
		m.first.Record(ctx, first.Seconds(), metric.WithAttributes(whom...))
	}
	if used != nil {
		m.tokens.Add(ctx, used.Input, metric.WithAttributes(append(whom, attribute.String("direction", "input"))...))
		m.tokens.Add(ctx, used.Output, metric.WithAttributes(append(whom, attribute.String("direction", "output"))...))
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
