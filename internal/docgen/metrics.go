package main

import (
	"cmp"
	"slices"
	"strings"

	"github.com/windlass-dev/windlass/libs/metrics"
)

const metricsIntro = `Prometheus reads these metrics from ` + "`/metrics`" + `; [Monitor Windlass](../how-to/observe.md#metrics) says where that is and who may read it.
With ` + "`telemetry.otlp.metrics`" + ` they are sent by OTLP too, under OpenTelemetry's names: words are separated by points,
and what Prometheus appends for units and counters is left out.

**Shared** metrics are read from the database: all replicas of a role report the same number, which no crash loses. Use ` + "`max`" + `, not ` + "`sum`" + `,
over instances. All others belong to one process, and begin at zero with it.

A metric has at most 1,000 combinations of labels in a process; what exceeds them is counted together, with the label
` + "`otel_metric_overflow`" + `. Tool metrics cover the tools that were called last: 2,048 outcomes and 256 tools with durations. Metrics of agents
name the first 500 combinations of tenant, agent and model; all others are one series with empty labels.

There are also the metrics of Go's runtime and of the process (` + "`go_…`, `process_…`" + `).`

// writeMetrics writes the page of metrics.
func writeMetrics(w *writer, _ string) error {
	w.title("Metrics", metricsIntro)
	w.line("\n| Series | Type | Unit | Labels | Reported by | Meaning |\n|---|---|---|---|---|---|")
	all := metrics.All()
	slices.SortFunc(all, func(a, b *metrics.Metric) int { return strings.Compare(a.Series(), b.Series()) })
	for _, m := range all {
		var labels []string
		for _, l := range m.Labels {
			labels = append(labels, code(l))
		}
		from := cmp.Or(m.From, "every process")
		if m.Shared {
			from += ", shared"
		}
		if m.Library {
			labels = append(labels, "depending on the call")
		}
		unit := map[string]string{"s": "seconds", "By": "bytes"}[m.Unit]
		w.line("| %s | %s | %s | %s | %s | %s |", code(m.Series()), m.Kind, unit, strings.Join(labels, ", "), from, cell(m.Help))
	}
	return nil
}
