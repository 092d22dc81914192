package gateway

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	otelcodes "go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/propagation"
	semconv "go.opentelemetry.io/otel/semconv/v1.41.0"
	"go.opentelemetry.io/otel/trace"

	"github.com/windlass-dev/windlass/gateway/problem"
	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/metrics"
	"github.com/windlass-dev/windlass/libs/telemetry"
)

// observer traces, measures and logs each request, and recovers panics. It replaces otelhttp, whose wrapped writer hides flush errors: an
// event stream needs them to notice that its reader is gone.
type observer struct {
	log      *slog.Logger
	tracer   trace.Tracer
	duration metric.Float64Histogram
	open     metric.Int64UpDownCounter
	// kept holds the attributes of responses, by kind: methods and patterns are of a bounded number, and so are statuses.
	kept sync.Map
}

// kind is what the attributes of a response depend on.
type kind struct {
	method, pattern string
	status          int
}

func newObserver(log *slog.Logger) *observer {
	meter := metrics.Process()
	return &observer{
		log: log, tracer: telemetry.Tracer("gateway"), duration: meter.Histogram(metrics.HTTPSeconds),
		open: meter.UpDown(metrics.EventStreams),
	}
}

type exchangeKey struct{}

// exchange is one request and its result. It wraps the response to record the status.
type exchange struct {
	http.ResponseWriter
	pattern string
	stream  bool
	status  int
}

// recordRoute records the pattern that matches the request's path.
func recordRoute(ctx context.Context, pattern string) {
	if x, ok := ctx.Value(exchangeKey{}).(*exchange); ok {
		x.pattern = pattern
	}
}

// WriteHeader implements http.ResponseWriter.
func (x *exchange) WriteHeader(status int) {
	if x.status == 0 && status >= http.StatusOK {
		x.status = status
	}
	x.ResponseWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter.
func (x *exchange) Write(b []byte) (int, error) {
	if x.status == 0 {
		x.status = http.StatusOK
	}
	return x.ResponseWriter.Write(b)
}

// Unwrap lets http.ResponseController reach the connection.
func (x *exchange) Unwrap() http.ResponseWriter { return x.ResponseWriter }

// streamOpen counts event streams.
func (o *observer) streamOpen(ctx context.Context, change int64) {
	if x, ok := ctx.Value(exchangeKey{}).(*exchange); ok {
		x.stream = true
	}
	o.open.Add(ctx, change)
}

func (o *observer) middleware(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		start := time.Now()
		x := &exchange{ResponseWriter: w, pattern: "unmatched"}
		ctx, id := telemetry.WithRequestID(r.Context(), r.Header.Get(telemetry.RequestHeader))
		r.Header.Set(telemetry.RequestHeader, id) // roles get it with the call
		w.Header().Set(telemetry.RequestHeader, id)
		ctx = otel.GetTextMapPropagator().Extract(ctx, propagation.HeaderCarrier(r.Header))
		ctx, span := o.tracer.Start(context.WithValue(ctx, exchangeKey{}, x), r.Method, trace.WithSpanKind(trace.SpanKindServer),
			trace.WithAttributes(semconv.HTTPRequestMethodKey.String(r.Method), semconv.URLPath(recorded(r.URL.Path))))
		defer span.End()
		r = r.WithContext(ctx)
		defer func() {
			o.recovered(x, r, recover())
			o.finish(r, x, span, time.Since(start))
		}()
		// A reused connection still has the deadline of its last event stream. Writers without deadlines occur in tests.
		_ = http.NewResponseController(w).SetWriteDeadline(time.Time{})
		inTime(w, r)
		next.ServeHTTP(x, r)
	})
}

// recorded is a path without secrets.
func recorded(path string) string {
	for _, prefix := range []string{sharedPath, sharedPage} {
		if strings.HasPrefix(path, prefix) {
			return prefix
		}
	}
	return path
}

// recovered responds for a handler that panicked. If the response has begun it aborts the connection instead.
func (o *observer) recovered(x *exchange, r *http.Request, p any) {
	if p == nil {
		return
	}
	if err, ok := p.(error); ok && errors.Is(err, http.ErrAbortHandler) {
		panic(p)
	}
	err := fault.Internal(fmt.Errorf("panic: %v\n%s", p, debug.Stack()))
	o.log.ErrorContext(r.Context(), "request failed", "route", x.pattern, "error", err)
	if x.status != 0 {
		panic(http.ErrAbortHandler)
	}
	problem.Write(x, r, err)
}

func (o *observer) finish(r *http.Request, x *exchange, span trace.Span, took time.Duration) {
	ctx := r.Context()
	if x.status == 0 {
		x.status = http.StatusOK
	}
	if span.IsRecording() {
		span.SetName(r.Method + " " + x.pattern)
		span.SetAttributes(semconv.HTTPRoute(x.pattern), semconv.HTTPResponseStatusCode(x.status))
		if x.status >= http.StatusInternalServerError {
			span.SetStatus(otelcodes.Error, http.StatusText(x.status))
		}
	}
	if !x.stream {
		o.duration.Record(ctx, took.Seconds(), o.attributes(kind{method(r.Method), x.pattern, x.status}))
	}
	if o.log.Enabled(ctx, slog.LevelDebug) {
		o.log.DebugContext(ctx, "request served", "method", r.Method, "route", x.pattern, "status", x.status, "took_ms", took.Milliseconds())
	}
}

func (o *observer) attributes(k kind) metric.RecordOption {
	if kept, ok := o.kept.Load(k); ok {
		if option, ok := kept.(metric.MeasurementOption); ok {
			return option
		}
	}
	option := metric.WithAttributeSet(attribute.NewSet(
		semconv.HTTPRequestMethodKey.String(k.method), semconv.HTTPRoute(k.pattern), semconv.HTTPResponseStatusCode(k.status)))
	o.kept.Store(k, option)
	return option
}

// method keeps callers from creating arbitrary values of a metric attribute.
func method(m string) string {
	switch m {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions:
		return m
	default:
		return "_OTHER"
	}
}
