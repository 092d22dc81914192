package egress_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"go.opentelemetry.io/otel"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/windlass-dev/windlass/libs/egress"
)

// A key in a URL's query reaches the server but not the trace.
func TestSpansDoNotShowQueries(t *testing.T) {
	spans := tracetest.NewInMemoryExporter()
	before := otel.GetTracerProvider()
	tp := sdktrace.NewTracerProvider(sdktrace.WithSyncer(spans))
	otel.SetTracerProvider(tp)
	t.Cleanup(func() { otel.SetTracerProvider(before) })

	var got string
	srv := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got = r.URL.Query().Get("api_key") }))
	t.Cleanup(srv.Close)
	e, err := egress.New(egress.Config{Profile: egress.Local})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.CloseIdle)
	resp, err := e.Client(egress.Options{}).Get(srv.URL + "/x?api_key=canary")
	if err != nil {
		t.Fatal(err)
	}
	if err := resp.Body.Close(); err != nil {
		t.Error(err)
	}
	if got != "canary" {
		t.Errorf("the server got key %q", got)
	}
	if len(spans.GetSpans()) != 1 {
		t.Fatalf("%d spans, want 1", len(spans.GetSpans()))
	}
	for _, a := range spans.GetSpans()[0].Attributes {
		if strings.Contains(a.Value.Emit(), "canary") {
			t.Errorf("span attribute %s shows the key", a.Key)
		}
	}
}
