package gateway_test

import (
	"fmt"
	"testing"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"google.golang.org/grpc/metadata"

	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
)

func TestMetrics(t *testing.T) {
	read := metric.NewManualReader()
	before := otel.GetMeterProvider()
	otel.SetMeterProvider(metric.NewMeterProvider(metric.WithReader(read)))
	t.Cleanup(func() { otel.SetMeterProvider(before) })
	s := serve(t, nil)
	s.up.watch = func(_ *sessionsv1.WatchTurnRequest, ss watchStream) error {
		_ = ss.SendHeader(metadata.MD{})
		<-ss.Context().Done()
		return nil
	}
	s.do("GET", "/v1/agents/a", "")
	s.do("GET", "/v1/agents/b", "")
	s.do("BREW", "/coffee/1", "")
	s.do("GET", "/healthz", "")
	for range 2 {
		r := s.open("/v1/sessions/s/events")
		r.must()
	}
	var all metricdata.ResourceMetrics
	if err := read.Collect(t.Context(), &all); err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, scope := range all.ScopeMetrics {
		for _, m := range scope.Metrics {
			switch d := m.Data.(type) {
			case metricdata.Histogram[float64]:
				for _, p := range d.DataPoints {
					route, _ := p.Attributes.Value("http.route")
					verb, _ := p.Attributes.Value("http.request.method")
					status, _ := p.Attributes.Value("http.response.status_code")
					got[fmt.Sprintf("%s %s %s %d", m.Name, verb.AsString(), route.AsString(), status.AsInt64())] = fmt.Sprint(p.Count)
				}
			case metricdata.Sum[int64]:
				for _, p := range d.DataPoints {
					got[m.Name] = fmt.Sprint(p.Value)
				}
			}
		}
	}
	for name, want := range map[string]string{
		"http.server.request.duration GET /v1/agents/{agent_id} 200": "2",
		"http.server.request.duration _OTHER unmatched 404":          "1",
		"windlass.gateway.event_streams":                             "2",
	} {
		if got[name] != want {
			t.Errorf("%s is %q, want %s; all: %v", name, got[name], want, got)
		}
	}
}
