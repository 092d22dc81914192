package metrics_test

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/windlass-dev/windlass/libs/config"
	"github.com/windlass-dev/windlass/libs/metrics"
	"github.com/windlass-dev/windlass/libs/telemetry"
)

var (
	seriesName = regexp.MustCompile(`^[a-z][a-z0-9_]*$`)
	named      = regexp.MustCompile(`(?m)^([a-z_]+)(?:\{(.*)\})? `)
	labelName  = regexp.MustCompile(`([a-z_]+)="`)
)

// scrape returns what /metrics of a process with every row of the table shows, after do.
func scrape(t *testing.T, do func(metrics.Meter)) string {
	t.Helper()
	tel, err := telemetry.Setup(t.Context(), "test", "v0", config.Default[telemetry.Config](), &bytes.Buffer{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = tel.Shutdown(context.Background()) })
	do(metrics.Process())
	rec := httptest.NewRecorder()
	tel.Metrics.ServeHTTP(rec, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	return rec.Body.String()
}

// TestTable: the series that Prometheus reads have the names and labels that the table says, for every row.
func TestTable(t *testing.T) {
	var values []metrics.Value
	var observed metrics.Rows
	values = append(values, metrics.Value{})
	for _, m := range metrics.All() {
		if m.Kind != metrics.Histogram && m != metrics.BuildInfo {
			observed = append(observed, m)
			values = append(values, metrics.Value{Metric: m, Number: 1, Labels: m.Labels})
		}
	}
	text := scrape(t, func(meter metrics.Meter) {
		for _, m := range metrics.All() {
			if m.Kind == metrics.Histogram {
				meter.Histogram(m).Record(t.Context(), 1, m.Labelled(m.Labels...))
			}
		}
		if _, err := meter.Observe(observed, func(context.Context) ([]metrics.Value, error) { return values, nil }); err != nil {
			t.Fatal(err)
		}
	})
	got := map[string][]string{}
	for _, m := range named.FindAllStringSubmatch(text, -1) {
		var labels []string
		for _, l := range labelName.FindAllStringSubmatch(m[2], -1) {
			labels = append(labels, l[1])
		}
		got[m[1]] = labels
	}
	seen := map[string]bool{}
	for _, m := range metrics.All() {
		name, labels := m.Series(), slices.Clone(m.Labels)
		switch {
		case seen[name] || !seriesName.MatchString(name):
			t.Errorf("%s is defined twice, or no name for Prometheus", name)
		case m.Help == "" || !strings.HasSuffix(m.Help, "."):
			t.Errorf("%s has no sentence as help", name)
		case (m.Kind == metrics.Histogram && !m.Library) != (len(m.Bounds) > 0):
			t.Errorf("%s is a %s with %d bounds", name, m.Kind, len(m.Bounds))
		}
		seen[name] = true
		if m.Kind == metrics.Histogram {
			name += "_count"
		}
		slices.Sort(labels)
		have, ok := got[name]
		slices.Sort(have)
		if !ok || !slices.Equal(have, labels) {
			t.Errorf("%s has labels %q in /metrics (found: %t), want %q", name, have, ok, labels)
		}
	}
}

// TestLabelBomb: 10,000 values of a label stay under the bound of series of each metric.
func TestLabelBomb(t *testing.T) {
	const most = 1000
	text := scrape(t, func(meter metrics.Meter) {
		refusals := meter.Counter(metrics.QuotaRefusals)
		for i := range 10_000 {
			refusals.Add(t.Context(), 1, metrics.QuotaRefusals.Labelled("tenant"+strconv.Itoa(i), "requests", "tenant"))
		}
	})
	n := strings.Count(text, "\nwindlass_quota_refusals_total{")
	if n == 0 || n > most || !strings.Contains(text, `windlass_quota_refusals_total{otel_metric_overflow="true"} `) {
		t.Errorf("%d series for 10,000 tenants, want at most %d with one for the others", n, most)
	}
}

func TestAttributesFollowTheTable(t *testing.T) {
	if got := metrics.QuotaRefusals.Attributes("a", "b"); got.Len() != 3 {
		t.Errorf("left-out values are dropped: %v", got.ToSlice())
	}
	if got := metrics.ToolSeconds.Data(metricdata.Histogram[float64]{}); got.Name != metrics.ToolSeconds.Name || got.Unit != "s" {
		t.Errorf("data of a producer: %+v", got)
	}
}

// TestReadingsAreBounded: a database that does not answer delays the other metrics for a few seconds only, and what was read is reported.
func TestReadingsAreBounded(t *testing.T) {
	bounded := false
	text := scrape(t, func(meter metrics.Meter) {
		observed, err := meter.Observe(metrics.Rows{metrics.SessionsActive}, func(ctx context.Context) ([]metrics.Value, error) {
			_, bounded = ctx.Deadline()
			return []metrics.Value{{Metric: metrics.SessionsActive, Number: 7}}, errors.New("no answer")
		})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(observed.Stop)
	})
	if !bounded || !strings.Contains(text, "\nwindlass_sessions_active 7\n") {
		t.Errorf("the reading has a deadline: %t, and its value is not in\n%s", bounded, text)
	}
}
