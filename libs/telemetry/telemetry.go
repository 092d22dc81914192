// Package telemetry sets up logs, metrics and traces for one process.
package telemetry

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"runtime"
	"strings"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	otelprometheus "go.opentelemetry.io/otel/exporters/prometheus"
	"go.opentelemetry.io/otel/propagation"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/exemplar"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/windlass-dev/windlass/libs/metrics"
)

// Config configures logs and traces.
type Config struct {
	LogLevel     string     `yaml:"log_level" default:"info" doc:"Minimum level to log: debug, info, warn or error."`
	LogFormat    string     `yaml:"log_format" default:"text" doc:"Log format: text or json."`
	OTLPEndpoint string     `yaml:"otlp_endpoint" doc:"OTLP gRPC collector for traces, and for metrics and logs with telemetry.otlp.metrics and telemetry.otlp.logs, as URL (http://host:4317 or https://…). Empty: nothing is sent."`
	OTLP         OTLPConfig `yaml:"otlp"`
	SampleRatio  float64    `yaml:"sample_ratio" default:"1" zero:"off" doc:"Fraction of new traces to keep, from 0 to 1. Sampling decisions of callers are honoured."`
	// Metrics says how monitoring reads metrics.
	Metrics ScrapeConfig `yaml:"metrics"`
}

// Telemetry holds the telemetry of a process.
type Telemetry struct {
	// Log writes to the process's standard error and adds trace ids.
	Log *slog.Logger
	// Metrics serves all metrics in the Prometheus text format.
	Metrics http.Handler

	// stop are the providers, close the exporters below them, which a provider does not reach when its time is up.
	stop, close []func(context.Context) error
}

// Setup creates logger, meter and tracer and installs them as OpenTelemetry's globals. Call it once, from main's wiring.
func Setup(ctx context.Context, service, version string, cfg Config, logTo io.Writer) (*Telemetry, error) {
	own, err := handler(cfg, logTo)
	if err != nil {
		return nil, err
	}
	res, err := described(ctx, service, version, cfg.OTLP.Resource)
	if err != nil {
		return nil, err
	}
	to, err := cfg.target()
	if err != nil {
		return nil, err
	}
	t := &Telemetry{Log: slog.New(traced{own})}
	if err := errors.Join(t.metrics(ctx, to, res, version), t.traces(ctx, to, cfg, res), t.logs(ctx, to, own, res)); err != nil {
		return nil, errors.Join(err, t.Shutdown(ctx))
	}
	otel.SetTextMapPropagator(propagation.NewCompositeTextMapPropagator(propagation.TraceContext{}, propagation.Baggage{}))
	otel.SetErrorHandler(&failures{log: slog.New(own)}) // not to the collector: it may be what failed
	return t, nil
}

func (t *Telemetry) metrics(ctx context.Context, to *target, res *resource.Resource, version string) error {
	reg := prometheus.NewRegistry()
	reg.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	exp, err := otelprometheus.New(otelprometheus.WithRegisterer(reg), otelprometheus.WithoutScopeInfo(),
		otelprometheus.WithProducer(&process))
	if err != nil {
		return fmt.Errorf("build metrics exporter: %w", err)
	}
	opts := []sdkmetric.Option{sdkmetric.WithReader(exp), sdkmetric.WithResource(res), sdkmetric.WithCardinalityLimit(maxSeries)}
	sent, err := t.metricReader(ctx, to)
	if err != nil {
		return err
	}
	if sent != nil {
		opts = append(opts, sdkmetric.WithReader(sent))
	}
	if to == nil { // there are no traces that exemplars could name, but each series of a histogram would keep some
		opts = append(opts, sdkmetric.WithExemplarFilter(exemplar.AlwaysOffFilter))
	}
	mp := sdkmetric.NewMeterProvider(opts...)
	otel.SetMeterProvider(mp)
	t.stop = append(t.stop, mp.Shutdown)
	// OpenMetrics has exemplars: the trace of a measurement.
	t.Metrics = promhttp.HandlerFor(reg, promhttp.HandlerOpts{EnableOpenMetrics: true})
	build := metrics.Value{Metric: metrics.BuildInfo, Number: 1, Labels: []string{version, runtime.Version()}}
	if _, err := metrics.Process().Observe(metrics.Rows{metrics.BuildInfo}, func(context.Context) ([]metrics.Value, error) {
		return []metrics.Value{build}, nil
	}); err != nil {
		return err
	}
	return nil
}

// maxSeries bounds the combinations of labels of one metric of a process. What exceeds it is counted together, with the label
// otel_metric_overflow.
const maxSeries = 1000

func (t *Telemetry) traces(ctx context.Context, to *target, cfg Config, res *resource.Resource) error {
	if to == nil {
		otel.SetTracerProvider(noop.NewTracerProvider())
		return nil
	}
	exp, err := otlptracegrpc.New(ctx, to.traceOptions()...)
	if err != nil {
		return fmt.Errorf("telemetry.otlp_endpoint %q: %w", cfg.OTLPEndpoint, err)
	}
	tp := sdktrace.NewTracerProvider(sdktrace.WithBatcher(exp), sdktrace.WithResource(res),
		sdktrace.WithIDGenerator(idGenerator{}), sdktrace.WithSampler(sdktrace.ParentBased(sdktrace.TraceIDRatioBased(cfg.SampleRatio))))
	otel.SetTracerProvider(tp)
	t.stop, t.close = append(t.stop, tp.Shutdown), append(t.close, exp.Shutdown)
	return nil
}

// Shutdown flushes buffered telemetry until ctx ends. All signals are flushed at once: one that takes long takes no time of others.
func (t *Telemetry) Shutdown(ctx context.Context) error {
	errs := make([]error, len(t.stop))
	var all sync.WaitGroup
	for i, stop := range t.stop {
		all.Go(func() { errs[i] = stop(ctx) })
	}
	all.Wait()
	for _, end := range t.close {
		_ = end(ctx) // fails if its provider has closed it, which is the rule
	}
	return errors.Join(errs...)
}

// handler writes log lines.
func handler(cfg Config, w io.Writer) (slog.Handler, error) {
	var level slog.Level
	if err := level.UnmarshalText([]byte(cfg.LogLevel)); err != nil {
		return nil, fmt.Errorf("telemetry.log_level %q: use debug, info, warn or error", cfg.LogLevel)
	}
	opts := &slog.HandlerOptions{Level: level}
	switch strings.ToLower(cfg.LogFormat) {
	case "text":
		return slog.NewTextHandler(w, opts), nil
	case "json":
		return slog.NewJSONHandler(w, opts), nil
	default:
		return nil, fmt.Errorf("telemetry.log_format %q: use text or json", cfg.LogFormat)
	}
}

// traced adds the ids of the trace, the span and the request to each log line.
type traced struct{ slog.Handler }

// Handle implements slog.Handler.
func (h traced) Handle(ctx context.Context, r slog.Record) error {
	if sc := trace.SpanContextFromContext(ctx); sc.HasTraceID() {
		r.AddAttrs(slog.String("trace_id", sc.TraceID().String()), slog.String("span_id", sc.SpanID().String()))
	}
	if id := RequestID(ctx); id != "" {
		r.AddAttrs(slog.String("request_id", id))
	}
	return h.Handler.Handle(ctx, r)
}

// WithAttrs implements slog.Handler.
func (h traced) WithAttrs(a []slog.Attr) slog.Handler { return traced{h.Handler.WithAttrs(a)} }

// WithGroup implements slog.Handler.
func (h traced) WithGroup(name string) slog.Handler { return traced{h.Handler.WithGroup(name)} }

// TraceID returns the id of ctx's trace, "" if it has none.
func TraceID(ctx context.Context) string {
	if sc := trace.SpanContextFromContext(ctx); sc.HasTraceID() {
		return sc.TraceID().String()
	}
	return ""
}

// TraceParent returns ctx's span as a W3C traceparent, to be stored with work that is done later; "" if it has none.
func TraceParent(ctx context.Context) string {
	carrier := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(ctx, carrier)
	return carrier["traceparent"]
}

// WithTraceParent sets the parent span of ctx to a traceparent. An invalid one is ignored.
func WithTraceParent(ctx context.Context, parent string) context.Context {
	return propagation.TraceContext{}.Extract(ctx, propagation.MapCarrier{"traceparent": parent})
}

// Tracer returns a tracer of the process; its spans are part of the caller's trace.
func Tracer(name string) trace.Tracer { return otel.Tracer("github.com/windlass-dev/windlass/" + name) }
