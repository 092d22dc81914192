package egress_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/propagation"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/windlass-dev/windlass/libs/egress"
)

// TestRequestsAreMeasuredAlikeWithAndWithoutSpans compares the metrics of a process without spans with those of otelhttp.
func TestRequestsAreMeasuredAlikeWithAndWithoutSpans(t *testing.T) {
	provider, meters, propagator := otel.GetTracerProvider(), otel.GetMeterProvider(), otel.GetTextMapPropagator()
	t.Cleanup(func() {
		otel.SetTracerProvider(provider)
		otel.SetMeterProvider(meters)
		otel.SetTextMapPropagator(propagator)
	})
	otel.SetTextMapPropagator(propagation.TraceContext{})
	var parent atomic.Value // string; the transport may repeat a request
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		parent.Store(r.Header.Get("Traceparent"))
		if r.Method == http.MethodPut {
			w.WriteHeader(http.StatusTeapot)
		}
		if r.Method == http.MethodDelete {
			panic(http.ErrAbortHandler)
		}
	}))
	t.Cleanup(srv.Close)
	sc := trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{1}, SpanID: trace.SpanID{2}, Remote: true})
	measure := func(spans trace.TracerProvider) map[string]string {
		otel.SetTracerProvider(spans)
		reader := sdkmetric.NewManualReader()
		otel.SetMeterProvider(sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader)))
		e, err := egress.New(egress.Config{Profile: egress.Local})
		if err != nil {
			t.Fatal(err)
		}
		defer e.CloseIdle()
		c := e.Client(egress.Options{})
		for method, body := range map[string]io.Reader{
			http.MethodGet: nil, http.MethodPost: strings.NewReader("four"), http.MethodPut: io.MultiReader(strings.NewReader("five!")),
			http.MethodDelete: nil,
		} {
			r, err := http.NewRequestWithContext(trace.ContextWithSpanContext(t.Context(), sc), method, srv.URL+"/x?y=z", body)
			if err != nil {
				t.Fatal(err)
			}
			res, err := c.Do(r)
			if method == http.MethodDelete {
				if err == nil {
					t.Error("the request was answered")
				}
				continue
			}
			if err != nil {
				t.Fatal(err)
			}
			if err := res.Body.Close(); err != nil {
				t.Error(err)
			}
			if got, _ := parent.Load().(string); !strings.Contains(got, sc.TraceID().String()) {
				t.Errorf("%s: the server got traceparent %q", method, got)
			}
		}
		var all metricdata.ResourceMetrics
		if err := reader.Collect(t.Context(), &all); err != nil {
			t.Fatal(err)
		}
		return points(all)
	}
	want := measure(sdktrace.NewTracerProvider())
	got := measure(noop.NewTracerProvider())
	if len(want) != 8 {
		t.Errorf("%d series: %v", len(want), want)
	}
	for key, w := range want {
		if got[key] != w {
			t.Errorf("%s: want %s, got %s", key, w, got[key])
		}
	}
	for key := range got {
		if _, ok := want[key]; !ok {
			t.Errorf("not with spans: %s", key)
		}
	}
}

// points returns histograms by their names and attributes: the sums of sizes, and only that there are durations.
func points(all metricdata.ResourceMetrics) map[string]string {
	out := map[string]string{}
	for _, scope := range all.ScopeMetrics {
		for _, m := range scope.Metrics {
			switch data := m.Data.(type) {
			case metricdata.Histogram[int64]:
				for _, p := range data.DataPoints {
					out[m.Name+" "+m.Unit+" "+m.Description+" "+p.Attributes.Encoded(attribute.DefaultEncoder())] = strings.Repeat("x", int(p.Sum))
				}
			case metricdata.Histogram[float64]:
				for _, p := range data.DataPoints {
					out[m.Name+" "+m.Unit+" "+m.Description+" "+p.Attributes.Encoded(attribute.DefaultEncoder())] = strings.Repeat("|", len(p.Bounds))
				}
			}
		}
	}
	return out
}
