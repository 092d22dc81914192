package step

import (
	"testing"

	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/windlass-dev/windlass/libs/metrics"
	"github.com/windlass-dev/windlass/services/sessions/store"
)

func TestClaimOf(t *testing.T) {
	for _, row := range []struct {
		name   string
		before store.Step
		want   string
	}{
		{name: "a new step", want: claimFirst},
		{name: "it was given back", before: store.Step{Attempt: 1}, want: claimRetry},
		{name: "the lease of another owner expired", before: store.Step{Attempt: 1, Owner: "w2"}, want: claimTakeover},
		{name: "its own lease expired", before: store.Step{Attempt: 1, Owner: "w1"}, want: claimRetry},
	} {
		if got := claimOf(row.before, "w1"); got != row.want {
			t.Errorf("%s: %s, want %s", row.name, got, row.want)
		}
	}
}

// TestTakeoversBeginAtZero: the first takeover of a process is an increase for Prometheus, whatever the kind of the step.
func TestTakeoversBeginAtZero(t *testing.T) {
	reader := sdkmetric.NewManualReader()
	m := newMeter(metrics.With(sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader)).Meter("test")))
	var got metricdata.ResourceMetrics
	if err := reader.Collect(t.Context(), &got); err != nil {
		t.Fatal(err)
	}
	sum, ok := got.ScopeMetrics[0].Metrics[0].Data.(metricdata.Sum[int64])
	if !ok || len(sum.DataPoints) == 0 || len(sum.DataPoints)*3 != len(m.labels) {
		t.Fatalf("%d kinds of claims, and %+v", len(m.labels), got.ScopeMetrics)
	}
	for _, p := range sum.DataPoints {
		if claim, _ := p.Attributes.Value("claim"); p.Value != 0 || claim.AsString() != claimTakeover {
			t.Errorf("%v begins at %d", p.Attributes.ToSlice(), p.Value)
		}
	}
}
