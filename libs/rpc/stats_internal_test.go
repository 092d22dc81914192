package rpc

import (
	"errors"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/propagation"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/stats"
)

// TestCallsAreMeasuredAlikeWithAndWithoutTraces compares our handlers of a process without traces with those of otelgrpc.
func TestCallsAreMeasuredAlikeWithAndWithoutTraces(t *testing.T) {
	provider, meters, propagator := otel.GetTracerProvider(), otel.GetMeterProvider(), otel.GetTextMapPropagator()
	t.Cleanup(func() {
		otel.SetTracerProvider(provider)
		otel.SetMeterProvider(meters)
		otel.SetTextMapPropagator(propagator)
	})
	otel.SetTracerProvider(noop.NewTracerProvider())
	otel.SetTextMapPropagator(propagation.NewCompositeTextMapPropagator(propagation.TraceContext{}, propagation.Baggage{}))
	measured := func(pick func(stats.Handler) stats.Handler) map[string]metricdata.HistogramDataPoint[float64] {
		reader := sdkmetric.NewManualReader()
		otel.SetMeterProvider(sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader)))
		h := pick(serverStats())
		begin := time.Now()
		for method, err := range map[string]error{
			"/a.b.C/Works": nil, "/a.b.C/Fails": errors.New("failed"), "/grpc.health.v1.Health/Check": nil,
		} {
			ctx := h.TagRPC(t.Context(), &stats.RPCTagInfo{FullMethodName: method})
			h.HandleRPC(ctx, &stats.Begin{BeginTime: begin})
			h.HandleRPC(ctx, &stats.End{BeginTime: begin, EndTime: begin.Add(20 * time.Millisecond), Error: err})
		}
		var all metricdata.ResourceMetrics
		if err := reader.Collect(t.Context(), &all); err != nil {
			t.Fatal(err)
		}
		out := map[string]metricdata.HistogramDataPoint[float64]{}
		for _, scope := range all.ScopeMetrics {
			for _, m := range scope.Metrics {
				data, _ := m.Data.(metricdata.Histogram[float64])
				for _, p := range data.DataPoints {
					out[m.Name+m.Unit+m.Description+scope.Scope.Name+" "+p.Attributes.Encoded(attribute.DefaultEncoder())] = p
				}
			}
		}
		return out
	}
	want := measured(func(h stats.Handler) stats.Handler {
		own, ok := h.(*untracedServer)
		if !ok {
			t.Fatalf("%T", h)
		}
		return own.traced
	})
	got := measured(func(h stats.Handler) stats.Handler { return h })
	if len(want) != 2 || len(got) != len(want) {
		t.Fatalf("want %v, got %v", want, got)
	}
	for key, w := range want {
		if g := got[key]; g.Count != w.Count || g.Sum != w.Sum || len(g.Bounds) != len(w.Bounds) {
			t.Errorf("%s: want %+v, got %+v", key, w, g)
		}
	}
}

func TestTheTraceOfACallerIsPassedOnWithoutTraces(t *testing.T) {
	propagator := otel.GetTextMapPropagator()
	t.Cleanup(func() { otel.SetTextMapPropagator(propagator) })
	otel.SetTextMapPropagator(propagation.NewCompositeTextMapPropagator(propagation.TraceContext{}, propagation.Baggage{}))
	const parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	info := &stats.RPCTagInfo{FullMethodName: "/a.b.C/D"}
	server := &untracedServer{counts: func(*stats.RPCTagInfo) bool { return true }}
	in := metadata.NewIncomingContext(t.Context(), metadata.Pairs("traceparent", parent))
	ctx := server.TagRPC(in, info)
	if sc := trace.SpanContextFromContext(ctx); !sc.IsRemote() || !strings.Contains(parent, sc.TraceID().String()) {
		t.Fatalf("%+v", sc)
	}
	md, _ := metadata.FromOutgoingContext(untracedClient{}.TagRPC(ctx, info))
	if got := md.Get("traceparent"); len(got) != 1 || got[0] != parent {
		t.Errorf("%v", md)
	}
	if plain := (untracedClient{}).TagRPC(t.Context(), info); plain != t.Context() {
		t.Error("a call without a trace has a new context")
	}
}
