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

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	otelprometheus "go.opentelemetry.io/otel/exporters/prometheus"
	"go.opentelemetry.io/otel/propagation"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"
)

// Config configures logs and traces.
type Config struct {
	LogLevel     string  `yaml:"log_level" default:"info" doc:"Minimum level to log: debug, info, warn or error."`
	LogFormat    string  `yaml:"log_format" default:"text" doc:"Log format: text or json."`
	OTLPEndpoint string  `yaml:"otlp_endpoint" doc:"OTLP gRPC collector for traces, as URL (http://host:4317 or https://…). Empty: no traces."`
	SampleRatio  float64 `yaml:"sample_ratio" default:"1" zero:"off" doc:"Fraction of new traces to keep, from 0 to 1. Sampling decisions of callers are honoured."`
	// Metrics says how monitoring reads metrics.
	Metrics ScrapeConfig `yaml:"metrics"`
}

// Telemetry holds the telemetry of a process.
type Telemetry struct {
	// Log writes to the process's standard error and adds trace ids.
	Log *slog.Logger
	// Metrics serves all metrics in the Prometheus text format.
	Metrics http.Handler

	stop []func(context.Context) error
}

// Setup creates logger, meter and tracer and installs them as OpenTelemetry's globals. Call it once, from main's wiring.
func Setup(ctx context.Context, service, version string, cfg Config, logTo io.Writer) (*Telemetry, error) {
	log, err := logger(cfg, logTo)
	if err != nil {
		return nil, err
	}
	t := &Telemetry{Log: log}
	res := resource.NewSchemaless(attribute.String("service.name", service), attribute.String("service.version", version))
	if err := t.metrics(res, version); err != nil {
		return nil, err
	}
	if err := t.traces(ctx, cfg, res); err != nil {
		return nil, err
	}
	otel.SetTextMapPropagator(propagation.NewCompositeTextMapPropagator(propagation.TraceContext{}, propagation.Baggage{}))
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { log.WarnContext(context.Background(), "telemetry failed", "error", err) }))
	return t, nil
}

func (t *Telemetry) metrics(res *resource.Resource, version string) error {
	reg := prometheus.NewRegistry()
	reg.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	build := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "windlass_build_info", Help: "Always 1. Its labels describe the program.",
		ConstLabels: prometheus.Labels{"version": version, "go": runtime.Version()},
	})
	build.Set(1)
	reg.MustRegister(build)
	exp, err := otelprometheus.New(otelprometheus.WithRegisterer(reg), otelprometheus.WithoutScopeInfo(),
		otelprometheus.WithProducer(&process))
	if err != nil {
		return fmt.Errorf("build metrics exporter: %w", err)
	}
	mp := sdkmetric.NewMeterProvider(sdkmetric.WithReader(exp), sdkmetric.WithResource(res))
	otel.SetMeterProvider(mp)
	t.stop = append(t.stop, mp.Shutdown)
	t.Metrics = promhttp.HandlerFor(reg, promhttp.HandlerOpts{})
	return nil
}

func (t *Telemetry) traces(ctx context.Context, cfg Config, res *resource.Resource) error {
	if cfg.OTLPEndpoint == "" {
		otel.SetTracerProvider(noop.NewTracerProvider())
		return nil
	}
	exp, err := otlptracegrpc.New(ctx, otlptracegrpc.WithEndpointURL(cfg.OTLPEndpoint))
	if err != nil {
		return fmt.Errorf("telemetry.otlp_endpoint %q: %w", cfg.OTLPEndpoint, err)
	}
	tp := sdktrace.NewTracerProvider(sdktrace.WithBatcher(exp), sdktrace.WithResource(res),
		sdktrace.WithIDGenerator(idGenerator{}), sdktrace.WithSampler(sdktrace.ParentBased(sdktrace.TraceIDRatioBased(cfg.SampleRatio))))
	otel.SetTracerProvider(tp)
	t.stop = append(t.stop, tp.Shutdown)
	return nil
}

// Shutdown flushes buffered telemetry until ctx ends.
func (t *Telemetry) Shutdown(ctx context.Context) error {
	var errs []error
	for _, stop := range t.stop {
		errs = append(errs, stop(ctx))
	}
	return errors.Join(errs...)
}

func logger(cfg Config, w io.Writer) (*slog.Logger, error) {
	var level slog.Level
	if err := level.UnmarshalText([]byte(cfg.LogLevel)); err != nil {
		return nil, fmt.Errorf("telemetry.log_level %q: use debug, info, warn or error", cfg.LogLevel)
	}
	opts := &slog.HandlerOptions{Level: level}
	switch strings.ToLower(cfg.LogFormat) {
	case "text":
		return slog.New(traced{slog.NewTextHandler(w, opts)}), nil
	case "json":
		return slog.New(traced{slog.NewJSONHandler(w, opts)}), nil
	default:
		return nil, fmt.Errorf("telemetry.log_format %q: use text or json", cfg.LogFormat)
	}
}

// traced adds the ids of the trace and of the request to each log line.
type traced struct{ slog.Handler }

// Handle implements slog.Handler.
func (h traced) Handle(ctx context.Context, r slog.Record) error {
	if sc := trace.SpanContextFromContext(ctx); sc.HasTraceID() {
		r.AddAttrs(slog.String("trace_id", sc.TraceID().String()))
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
