package monitoring_test

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/windlass-dev/windlass/internal/monitoring"
	"github.com/windlass-dev/windlass/libs/metrics"
)

var (
	ours    = regexp.MustCompile(`\b(?:windlass|rpc|http)_[a-z0-9_]+|\bwindlass:[a-z0-9_:]+`)
	labels  = regexp.MustCompile(`^(?:http_response_status_code|http_route|http_request_method|rpc_method)$`)
	section = regexp.MustCompile(`(?m)^## (Windlass\w+)$`)
)

// measured are the names that queries may use: the series of the table, and what rules record.
func measured() []string {
	names := []string{}
	for _, m := range metrics.All() {
		names = append(names, m.Series())
		if m.Kind == metrics.Histogram {
			names = append(names, m.Series()+"_bucket", m.Series()+"_sum", m.Series()+"_count")
		}
	}
	for _, r := range monitoring.Recordings() {
		names = append(names, r.Record)
	}
	return names
}

// TestQueriesNameMetricsOfTheTable: a query over a metric that does not exist would be empty for good, and an alert over it silent.
func TestQueriesNameMetricsOfTheTable(t *testing.T) {
	known := measured()
	check := func(where, expr string) {
		for _, name := range ours.FindAllString(expr, -1) {
			if !slices.Contains(known, name) && !labels.MatchString(name) {
				t.Errorf("%s names %s, which is not measured", where, name)
			}
		}
	}
	for _, d := range monitoring.Dashboards() {
		for _, p := range d.Panels {
			for _, q := range p.Queries {
				check(d.Title+", "+p.Title, q.Expr)
			}
			if p.Help == "" || len(p.Queries) == 0 {
				t.Errorf("%s, %s has no help or no query", d.Title, p.Title)
			}
		}
	}
	for _, r := range monitoring.Recordings() {
		check(r.Record, r.Expr)
	}
	for _, a := range monitoring.Alerts() {
		check(a.Name, a.Expr)
	}
}

// TestRunbooks: each alert has a section, and no section is left of an alert that is gone.
func TestRunbooks(t *testing.T) {
	page, err := os.ReadFile("../../docs/how-to/runbooks.md")
	if err != nil {
		t.Fatal(err)
	}
	var sections, alerts []string
	for _, m := range section.FindAllStringSubmatch(string(page), -1) {
		sections = append(sections, m[1])
	}
	for _, a := range monitoring.Alerts() {
		alerts = append(alerts, a.Name)
		if a.Severity != "page" && a.Severity != "ticket" || a.For == "" || !strings.HasSuffix(a.Summary, ".") || len(a.Firing) == 0 {
			t.Errorf("%s is not complete", a.Name)
		}
	}
	slices.Sort(sections)
	slices.Sort(alerts)
	if !slices.Equal(sections, alerts) {
		t.Errorf("runbooks.md has sections for\n%q\nalerts are\n%q", sections, alerts)
	}
}
