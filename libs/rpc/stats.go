package rpc

import (
	"context"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"go.opentelemetry.io/contrib/instrumentation/google.golang.org/grpc/otelgrpc"
	"go.opentelemetry.io/contrib/instrumentation/google.golang.org/grpc/otelgrpc/filters"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/baggage"
	"go.opentelemetry.io/otel/metric"
	nometrics "go.opentelemetry.io/otel/metric/noop"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/semconv/v1.43.0/rpcconv"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/stats"
)

// clientStats traces calls; metrics come from the server side.
func clientStats() stats.Handler {
	if untraced() {
		return untracedClient{}
	}
	return otelgrpc.NewClientHandler(otelgrpc.WithFilter(filters.Not(filters.HealthCheck())),
		otelgrpc.WithMeterProvider(nometrics.NewMeterProvider()))
}

// serverStats traces and measures calls.
func serverStats() stats.Handler {
	traced := otelgrpc.NewServerHandler(otelgrpc.WithFilter(filters.Not(filters.HealthCheck())))
	if !untraced() || os.Getenv("OTEL_SEMCONV_STABILITY_OPT_IN") != "" {
		return traced
	}
	duration, err := rpcconv.NewServerCallDuration(
		otel.Meter(otelgrpc.ScopeName, metric.WithInstrumentationVersion(otelgrpc.Version), metric.WithSchemaURL(semconv.SchemaURL)),
		metric.WithExplicitBucketBoundaries(0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10))
	if err != nil {
		return traced
	}
	return &untracedServer{traced: traced, counts: filters.Not(filters.HealthCheck()), duration: duration.Inst()}
}

// untraced reports whether this process makes no spans. otelgrpc builds the attributes of spans and encodes the context of traces in any
// case, for a tenth of what a tool call allocates.
func untraced() bool {
	_, off := otel.GetTracerProvider().(noop.TracerProvider)
	return off
}

// silent ignores connections.
type silent struct{}

// TagConn implements stats.Handler.
func (silent) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context { return ctx }

// HandleConn implements stats.Handler.
func (silent) HandleConn(context.Context, stats.ConnStats) {}

// untracedClient passes on the trace of a caller, if there is one.
type untracedClient struct{ silent }

// TagRPC implements stats.Handler.
func (untracedClient) TagRPC(ctx context.Context, _ *stats.RPCTagInfo) context.Context {
	if !trace.SpanContextFromContext(ctx).IsValid() && baggage.FromContext(ctx).Len() == 0 {
		return ctx
	}
	md, ok := metadata.FromOutgoingContext(ctx)
	if !ok {
		md = metadata.MD{}
	}
	otel.GetTextMapPropagator().Inject(ctx, carrier(md))
	return metadata.NewOutgoingContext(ctx, md)
}

// HandleRPC implements stats.Handler.
func (untracedClient) HandleRPC(context.Context, stats.RPCStats) {}

// carrier reads and writes the trace of a call in its metadata.
type carrier metadata.MD

// Get implements propagation.TextMapCarrier.
func (c carrier) Get(key string) string {
	if values := metadata.MD(c).Get(key); len(values) > 0 {
		return values[0]
	}
	return ""
}

// Set implements propagation.TextMapCarrier.
func (c carrier) Set(key, value string) { metadata.MD(c).Set(key, value) }

// Keys implements propagation.TextMapCarrier.
func (c carrier) Keys() []string { return slices.Collect(maps.Keys(c)) }

// untracedServer passes on the trace of a caller, and measures calls as otelgrpc does.
type untracedServer struct {
	silent
	traced   stats.Handler
	counts   otelgrpc.Filter
	duration metric.Float64Histogram
	// fields are the keys of metadata that have a trace; see known.
	fields []string
	known  sync.Once
	// succeeded holds the attributes of calls that succeed, by method; methods is their number.
	succeeded sync.Map
	methods   atomic.Int32
}

// maxMethods bounds the methods whose attributes are kept: names of unknown methods come from callers.
const maxMethods = 2048

type taggedKey struct{}

// TagRPC implements stats.Handler.
func (u *untracedServer) TagRPC(ctx context.Context, info *stats.RPCTagInfo) context.Context {
	if !u.counts(info) {
		return ctx
	}
	sent := func(field string) bool { return len(metadata.ValueFromIncomingContext(ctx, field)) > 0 }
	u.known.Do(func() { u.fields = otel.GetTextMapPropagator().Fields() })
	if slices.ContainsFunc(u.fields, sent) {
		md, _ := metadata.FromIncomingContext(ctx)
		ctx = otel.GetTextMapPropagator().Extract(ctx, carrier(md))
	}
	return context.WithValue(ctx, taggedKey{}, info)
}

// HandleRPC implements stats.Handler.
func (u *untracedServer) HandleRPC(ctx context.Context, rs stats.RPCStats) {
	end, ok := rs.(*stats.End)
	if !ok {
		return
	}
	info, ok := ctx.Value(taggedKey{}).(*stats.RPCTagInfo)
	switch {
	case !ok:
	case end.Error != nil:
		u.traced.HandleRPC(u.traced.TagRPC(ctx, info), rs)
	default:
		u.duration.Record(ctx, end.EndTime.Sub(end.BeginTime).Seconds(), u.success(info.FullMethodName))
	}
}

// success returns the attributes of a call that succeeded.
func (u *untracedServer) success(method string) metric.RecordOption {
	if kept, ok := u.succeeded.Load(method); ok {
		if option, ok := kept.(metric.MeasurementOption); ok {
			return option
		}
	}
	option := metric.WithAttributeSet(attribute.NewSet(semconv.RPCMethod(strings.TrimPrefix(method, "/")), semconv.RPCSystemNameGRPC,
		semconv.RPCResponseStatusCode("OK")))
	if u.methods.Add(1) <= maxMethods {
		u.succeeded.Store(method, option)
	}
	return option
}
